DROP TABLE threadclaim_threads;
DROP TABLE threadclaim_log;
DROP TABLE threadclaim_scopes;
