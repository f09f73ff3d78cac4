-- The upgrade point (ADR-0055, I7), and where each thread stands.

ALTER TABLE threadclaim_threads ADD COLUMN standing TEXT;

-- What a sweep reads: the threads that are stranded, and no other.
CREATE INDEX threadclaim_threads_stranded ON threadclaim_threads (scope_id, created) WHERE standing IS NOT NULL;

-- Nothing from before this point is ever consumed, by any thread. After a downgrade and a second upgrade it moves on.
INSERT INTO threadclaim_cursors (scope_id, name_key, name, seq)
SELECT id, 'artifactr.runner/upgraded', 'artifactr.runner/upgraded', head FROM threadclaim_scopes WHERE head > 0
ON CONFLICT (scope_id, name_key) DO UPDATE SET seq = excluded.seq WHERE excluded.seq > threadclaim_cursors.seq;

-- All that was asked is from before it. What is left are runs: to be recorded as abandoned, or resumed.
UPDATE threadclaim_threads SET standing = 'left'
WHERE json_extract(body, '$.run.status') IN ('active', 'answered');

-- Transactions that have read and not yet written read again.
UPDATE threadclaim_scopes SET version = version + 1;
