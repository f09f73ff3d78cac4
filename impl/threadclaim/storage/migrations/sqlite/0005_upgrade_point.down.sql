-- The upgrade point stays, as it only moves forward: an older release does not read it.
DROP INDEX threadclaim_threads_stranded;
ALTER TABLE threadclaim_threads DROP COLUMN standing;
