-- Workspaces, their logs, and their threads.

-- A workspace: the row that a transaction locks. Its number stands for it in every other table.
CREATE TABLE threadclaim_scopes (
    id INTEGER PRIMARY KEY,
    tenant_key TEXT NOT NULL,
    workspace_key TEXT NOT NULL,
    tenant TEXT NOT NULL,
    workspace TEXT NOT NULL,
    head BIGINT NOT NULL,
    version BIGINT NOT NULL,
    UNIQUE (tenant_key, workspace_key)
);

-- The log. What an event says is kept as the text that says it, so that it comes back as it was.
CREATE TABLE threadclaim_log (
    scope_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    event TEXT NOT NULL,
    thread_id TEXT,
    run_id TEXT,
    traceparent TEXT,
    thread_key TEXT,
    message_key TEXT,
    message_kind TEXT,
    PRIMARY KEY (scope_id, seq)
);

CREATE INDEX threadclaim_log_of_thread ON threadclaim_log (scope_id, thread_key, seq)
WHERE thread_key IS NOT NULL;

-- A message's id is used once in a workspace.
CREATE UNIQUE INDEX threadclaim_log_message_ids ON threadclaim_log (scope_id, message_key)
WHERE message_key IS NOT NULL;

-- Each thread as it is folded from its events.
CREATE TABLE threadclaim_threads (
    scope_id BIGINT NOT NULL,
    thread_key TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    body TEXT NOT NULL,
    created BIGINT NOT NULL,
    PRIMARY KEY (scope_id, thread_key)
);
