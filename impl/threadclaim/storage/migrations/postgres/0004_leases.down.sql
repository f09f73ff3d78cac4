DROP TABLE threadclaim_leases;
