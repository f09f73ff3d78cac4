DROP TABLE threadclaim_history;
