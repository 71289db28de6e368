import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { defined } from '@parley/protocol'
import { pino } from 'pino'
import { createScriptedAdapter } from '../../packages/server/src/adapters/scripted/index.ts'
import { fileTranscript } from '../../packages/server/src/adapters/scripted/transcript.ts'
import type { AlertSettings } from '../../packages/server/src/alerts/index.ts'
import { startParley } from '../../packages/server/src/cli/start.ts'
import type { Lease } from '../../packages/server/src/stores/postgres/ownership.ts'
import { adapterOf } from '../../packages/server/src/testing/real-agents.ts'

/**
 * The whole server with the scripted agent, and with Claude in the given environment, as a separate process that a test
 * may kill.
 */
const [dataDir = '', port = '0', token = '', claudeEnvironment = '{}'] = process.argv.slice(2)
const {
  PARLEY_DATABASE_URL: databaseUrl,
  PARLEY_NODE_URL: nodeUrl,
  PARLEY_PLACE: place,
  /** The folder in which the scripted agent stores its conversations, if nodes share them. */
  PARLEY_TEST_TRANSCRIPTS: transcripts = join(dataDir, 'agent'),
  PARLEY_TEST_LEASE: lease,
  PARLEY_TEST_ALLOWED_HOST: allowedHost,
  PARLEY_TEST_ALERTS: alerts,
} = process.env

const parley = await startParley({
  dataDir,
  hostname: '127.0.0.1',
  port: Number(port),
  token,
  ...defined({ databaseUrl, nodeUrl, place }),
  ...(allowedHost && { allowedHosts: [allowedHost] }),
  ...(lease && { lease: JSON.parse(lease) as Lease }),
  ...(alerts && { alerts: JSON.parse(alerts) as AlertSettings }),
  logger: pino({ level: 'warn' }, pino.destination(2)),
  adapters: [
    createScriptedAdapter({ transcript: fileTranscript(transcripts) }),
    adapterOf('claude', JSON.parse(claudeEnvironment) as Record<string, string>),
  ],
  limits: { checkpointMs: 50, cancelGraceMs: 500, stopGraceMs: 500 },
})
process.once('SIGTERM', () => void parley.close().then(() => process.exit(0)))
// A killed process would not write its compile cache, which speeds up the next start.
flushCompileCache()
console.log(JSON.stringify({ port: parley.http.port }))
