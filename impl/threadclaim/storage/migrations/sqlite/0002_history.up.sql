-- What the model was told and said, in chunks; each has the log's head as it was saved.
CREATE TABLE threadclaim_history (
    scope_id BIGINT NOT NULL,
    thread_key TEXT NOT NULL,
    number BIGINT NOT NULL,
    thread_id TEXT NOT NULL,
    head BIGINT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (scope_id, thread_key, number)
);
