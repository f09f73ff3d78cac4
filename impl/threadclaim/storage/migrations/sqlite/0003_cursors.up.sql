-- Named positions in a log, which only move forward.
CREATE TABLE threadclaim_cursors (
    scope_id BIGINT NOT NULL,
    name_key TEXT NOT NULL,
    name TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (scope_id, name_key)
) WITHOUT ROWID;
