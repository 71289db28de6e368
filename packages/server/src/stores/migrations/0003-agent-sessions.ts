/**
 * Adds a column for the agent's own id of a session's conversation, so that a session can be found by that id
 * without reading every state.
 */
export const agentSessions = {
  version: 3,
  sql: `
    ALTER TABLE sessions ADD COLUMN agent_session_id TEXT;
    UPDATE sessions SET agent_session_id = json_extract(state, '$.connection.agentSessionId')
      WHERE coalesce(json_extract(state, '$.forkPending'), 0) = 0;
    CREATE INDEX sessions_of_conversations ON sessions (agent_session_id) WHERE agent_session_id IS NOT NULL;
  `,
}
