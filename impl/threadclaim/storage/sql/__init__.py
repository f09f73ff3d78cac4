"""What the two durable storages share: one transaction, one set of SQL texts, and how a log is followed.

`transaction` decides what is loaded and written, `texts` has the SQL, `session` says what a database must do
for a transaction, and `base` is the storage but for its connections.
"""
