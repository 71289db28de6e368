import { connectInput, promptMessage } from '@parley/adapter-kit/testing'
import { createOpenCodeAdapter } from './index.ts'

/** A process with an OpenCode session, which a test kills. */
const env = JSON.parse(process.env.GIVEN ?? '{}') as Record<string, string>
const executable = process.env.EXECUTABLE ?? 'opencode'
const connection = await createOpenCodeAdapter({ env, executable }).connect(
  connectInput({ cwd: process.argv[2] ?? '' }),
)
await connection.send(promptMessage('Hello.'))
console.log('connected')
for await (const _ of connection.events);
