import type { AgentAdapter } from '@parley/adapter-kit'
import type { Sleep } from './gates.ts'
import { createScriptedAdapter } from './index.ts'
import type { Transcript } from './transcript.ts'

export type DemoOptions = { readonly sleep?: Sleep; readonly transcript?: Transcript }

/** The demo agent. It shows the parts of a session without an account, a model or any effect. */
export function createDemoAdapter(options: DemoOptions = {}): AgentAdapter {
  return createScriptedAdapter({
    ...options,
    id: 'demo',
    name: 'Demo',
    description: 'Shows what a session can look like. Runs nothing, writes nothing, needs no account.',
    async load() {
      const { demoCommands, demoScript } = await import('./demo-script.ts')
      return { script: demoScript, commands: demoCommands }
    },
    pieceDelayMs: 25,
  })
}
