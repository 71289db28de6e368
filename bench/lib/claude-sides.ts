import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { claudeEnvironment } from '../../packages/server/src/testing/claude-environment.ts'
import type { ClaudeModelCalls } from './claude-model-process.ts'
import type { ClaudeParleyCalls } from './claude-parley-process.ts'
import type { ClaudeRawCalls } from './claude-raw-process.ts'
import type { ClaudeSide } from './claude-side.ts'
import { type Remote, startProcess } from './processes.ts'

/**
 * The calls that both sides answer: the real Claude Code through Parley, and through its SDK alone. Each side and the
 * model run in their own processes.
 */
export type ClaudeCalls = Pick<ClaudeParleyCalls, 'turn' | 'processorMicroseconds' | 'memory'> & {
  open(): unknown
  close(): unknown
}

export type ClaudeSides = AsyncDisposable & {
  readonly parley: Remote<ClaudeParleyCalls>
  readonly raw: Remote<ClaudeRawCalls>
  /** Parley, with a spare agent that is started for the next session. */
  keeping(): Remote<ClaudeParleyCalls>
  readonly url: string
}

export async function startClaudeSides(folder: string): Promise<ClaudeSides> {
  await using undo = new AsyncDisposableStack()
  const model = startProcess<ClaudeModelCalls>('./claude-model-process.ts')
  undo.defer(() => model.stop())
  const { url } = await model.call('address')
  const side = (name: string): ClaudeSide => {
    const home = join(folder, name)
    mkdirSync(home, { recursive: true })
    return { env: claudeEnvironment({ url, home }), folder: home }
  }
  const parley = startProcess<ClaudeParleyCalls>('./claude-parley-process.ts', side('parley'))
  undo.defer(() => parley.stop())
  const raw = startProcess<ClaudeRawCalls>('./claude-raw-process.ts', side('raw'))
  undo.defer(() => raw.stop())
  const keeping = () => {
    const one = startProcess<ClaudeParleyCalls>('./claude-parley-process.ts', {
      ...side('keeping'),
      maxSpares: 1,
    })
    started.defer(() => one.stop())
    return one
  }
  const started = undo.move()
  return { parley, raw, url, keeping, [Symbol.asyncDispose]: () => started.disposeAsync() }
}
