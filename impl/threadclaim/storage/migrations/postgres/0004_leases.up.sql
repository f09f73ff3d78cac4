-- Leases. "until" is in seconds since 1970, by the database's clock.
CREATE TABLE threadclaim_leases (
    scope_id BIGINT NOT NULL,
    name_key TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    holder TEXT NOT NULL,
    until DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (scope_id, name_key)
) WITH (fillfactor = 70);
