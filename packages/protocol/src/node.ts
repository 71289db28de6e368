import { z } from 'zod'

/** The reason why a node was not reached at its URL. */
export const NodeProblem = z.enum(['unreachable', 'no-answer', 'other-token', 'other-node', 'not-a-node'])
export type NodeProblem = z.infer<typeof NodeProblem>

/** One of the servers on a database. A server on SQLite is the only one on its database. */
export const NodeInfo = z.object({
  id: z.int().meta({ description: 'Changes with each start, and when the node loses its lease' }),
  url: z.string().meta({ description: 'The URL at which other nodes reach the node' }),
  machine: z.string().meta({ description: 'The name of the machine of the node, for people' }),
  place: z.string().optional().meta({
    description:
      'The place of the folders of the node: nodes of one place can run the same sessions. Absent on SQLite',
  }),
  version: z.string(),
  startedAt: z.number(),
  isSelf: z.boolean().meta({ description: 'Whether this is the node that answers the request' }),
  state: z.enum(['alive', 'expired', 'gone']).meta({
    description:
      'alive: its lease is valid; expired: its lease has ended, and another node is about to take over its sessions; gone: it was stopped or replaced within the last hour, or was the last node of a machine that has sessions',
  }),
  sessions: z.int().optional().meta({
    description: 'Number of sessions that the node owns. Absent on SQLite, where one server owns all of them',
  }),
  working: z.int().optional().meta({
    description:
      'Number of owned sessions with a running turn or background tasks, which end if the node is stopped. Absent on SQLite',
  }),
  leaseAgeMs: z
    .number()
    .optional()
    .meta({ description: 'Time since the node last extended its lease. Absent on SQLite' }),
  databaseLatencyMs: z
    .number()
    .optional()
    .meta({ description: 'Duration of the last SQL statement of the node about its lease' }),
  reachable: z.boolean().optional().meta({
    description: 'Whether the node that answers reached this node at its URL. Present if it was checked',
  }),
  problem: NodeProblem.optional().meta({ description: 'The reason why this node was not reached' }),
  cannotReach: z
    .array(z.object({ id: z.int(), problem: NodeProblem }))
    .optional()
    .meta({ description: 'The nodes that this node did not reach at their URLs. Present with check=all' }),
})
export type NodeInfo = z.infer<typeof NodeInfo>

/** The machine and the node that run a session. */
export const SessionNode = z.object({
  machine: z.string().meta({ description: 'The name of the machine that has the folder of the session' }),
  place: z.string().optional().meta({ description: 'Absent on SQLite' }),
  node: z
    .object({ id: z.int(), url: z.string() })
    .optional()
    .meta({ description: 'The node that owns the session. Absent if no node has claimed it' }),
  awaited: z.literal(true).optional().meta({
    description: 'Present if no node of that machine is alive: the session continues when one is back',
  }),
})
export type SessionNode = z.infer<typeof SessionNode>

export const DatabaseInfo = z.object({
  version: z.string(),
  latencyMs: z.number(),
  clockSkewMs: z.number().meta({
    description: 'The time by which the clock of the database is ahead of the clock of the node that answers',
  }),
})
export type DatabaseInfo = z.infer<typeof DatabaseInfo>

export const NodeList = z.object({
  nodes: z.array(NodeInfo),
  database: DatabaseInfo.optional().meta({ description: 'The PostgreSQL database. Absent on SQLite' }),
})
export type NodeList = z.infer<typeof NodeList>

export const NodeCheck = z.enum(['peers', 'all'])
export type NodeCheck = z.infer<typeof NodeCheck>
