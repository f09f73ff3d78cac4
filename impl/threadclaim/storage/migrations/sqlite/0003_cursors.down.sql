DROP TABLE threadclaim_cursors;
