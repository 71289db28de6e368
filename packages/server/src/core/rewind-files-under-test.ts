import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { applyToTimeline, type Block, isKnown } from '@parley/protocol'
import { expect } from 'vitest'
import type { Step } from '../adapters/scripted/script.ts'
import { remembering } from '../testing/script-scenarios.ts'
import { folderForTest } from '../testing/temporary-folder.ts'
import { createSessionFolder } from '../workspace/session-folder.ts'
import {
  type HostUnderTest,
  type HostUnderTestOptions,
  hostUnderTest,
  type SessionUnderTest,
} from './host-under-test.ts'
import type { SessionFolder } from './session-folder.ts'

export const agent = { script: remembering }

type Options = Omit<HostUnderTestOptions, 'sessionFolder'> & {
  root?: string
  wrap?: (real: SessionFolder) => SessionFolder
}

export async function world({ root = folderForTest(), wrap = (real) => real, ...options }: Options = {}) {
  const real = createSessionFolder({ env: process.env, root })
  return hostUnderTest({ agent, ...options, sessionFolder: wrap(real) })
}

export const writes = (path: string, text: string): Step => ({
  type: 'tool',
  name: 'Bash',
  kind: 'execute',
  effect: { writeFile: { path, text, anew: true } },
})

export async function snapshots(session: SessionUnderTest, count: number): Promise<void> {
  const taken = async () => (await session.events('snapshot.taken')).length
  await expect.poll(taken, { timeout: 20_000 }).toBeGreaterThanOrEqual(count)
}

let gate = 0
/**
 * Plays a turn that writes files by a command, and returns the id of its prompt. Both snapshots of the turn are
 * complete.
 */
export async function turn(
  { gates }: HostUnderTest,
  session: SessionUnderTest,
  ...steps: Step[]
): Promise<string> {
  const before = (await session.events('snapshot.taken')).length
  const name = `gate ${++gate}`
  const script: Step[] = [{ type: 'wait', gate: name }, ...steps]
  const { turns } = await session.state()
  const promptId = await session.submit(...script)
  await snapshots(session, before + 1)
  gates.open(name)
  await session.when((state) => state.turns === turns + 1 && !state.turn)
  await snapshots(session, before + 2)
  return promptId
}

export const rewind = { type: 'session.rewind' } as const
export const unrewind = { type: 'session.unrewind' } as const

export function repository(cwd: string, files: Record<string, string>): void {
  execFileSync('git', ['init', '-q', '-b', 'main'], { cwd })
  for (const [path, text] of Object.entries(files)) writeFileSync(join(cwd, path), text)
  execFileSync('git', ['add', '-A'], { cwd })
  execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', 'commit', '-qm', 'x'], { cwd })
}

export const read = ({ cwd }: HostUnderTest, path: string) =>
  existsSync(join(cwd, path)) ? readFileSync(join(cwd, path), 'utf8') : undefined

export async function timeline(session: SessionUnderTest): Promise<Block[]> {
  return applyToTimeline([], (await session.log()).filter(isKnown))
}
