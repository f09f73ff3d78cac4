-- Named positions in a log, which only move forward.
CREATE TABLE threadclaim_cursors (
    scope_id BIGINT NOT NULL,
    name_key TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (scope_id, name_key)
) WITH (fillfactor = 70);
