import { join } from 'node:path'
import { type AcpAgent, createAcpAdapter } from './index.ts'

const program = join(import.meta.dirname, 'faulty-agent-under-test.ts')

/** An adapter for the misbehaving agent. */
export function faultyAgent(options: {
  home: string
  manner?: string
  more?: Partial<AcpAgent>
  env?: Record<string, string>
}) {
  const { home, manner = '', more, env } = options
  return createAcpAdapter(
    {
      id: 'odd',
      name: 'Odd',
      command: process.execPath,
      args: [program],
      capabilities: ['streaming', 'permissions', 'questions', 'interrupt', 'modes'],
      modes: { ask: 'tame', 'accept-edits': 'tame', 'read-only': 'tame', bypass: 'tame' },
      ...more,
    },
    { env: { PATH: process.env.PATH, HOME: home }, add: { ODD: manner, ...env } },
  )
}
