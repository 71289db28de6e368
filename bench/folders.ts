import { realpathSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SessionEvent } from '@parley/protocol'
import { createHost, type Host } from '../packages/server/src/index.ts'
import { createMemoryStore } from '../packages/server/src/stores/memory.ts'
import { createWorkspace } from '../packages/server/src/workspace/index.ts'
import { createSessionFolder } from '../packages/server/src/workspace/session-folder.ts'
import { createBenchAgent } from './lib/bench-agent.ts'
import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { fillRepository, git, pathOf } from './lib/large-repository.ts'
import { promptCommand } from './lib/servers.ts'
import { compare, inTurns, type Pair, timed } from './lib/stats.ts'

const changedFiles = 28
/** The difference between two medians that the clock and the scheduler can cause. */
const noticeableMs = 2

/**
 * The waiting times in the folder of a session, in a large repository with some changes. Each figure is compared with the time that git or the file system needs for the same data.
 */
export const folders: Figure = {
  name: 'folders',
  async measure({ quick, folder }) {
    const files = quick ? 1_000 : 50_000
    const rounds = quick ? 5 : 21
    const big = join(realpathSync(folder), 'big')
    fillRepository(big, files)
    const parts = { env: process.env, root: join(realpathSync(folder), 'shadows') }
    const sessionFolder = createSessionFolder(parts)
    const workspace = createWorkspace({ env: process.env, folders: sessionFolder })
    const of = `of ${files.toLocaleString('en')} files`
    const status = () => timed(async () => git(big, 'status', '--porcelain'))
    const snapshot = () => sessionFolder.snapshot(big, { sessionId: 'ses_bench' })
    const firstMs = await timed(snapshot)
    await status()
    const still = compare(await inTurns(rounds, () => timed(snapshot), status))
    const { tree } = await snapshot()
    let written = 0
    const work = () => {
      written++
      for (let index = 0; index < changedFiles; index++)
        writeFileSync(join(big, pathOf(index * 31)), `written ${written}\n`)
    }
    const afterWork = (measured: () => Promise<number>) => () => {
      work()
      return measured()
    }
    const busy = compare(
      await inTurns(
        rounds,
        afterWork(() => timed(snapshot)),
        afterWork(status),
      ),
    )
    const seen = { path: big, trusted: false }
    const listed = (compared: Parameters<typeof workspace.changes>[1]) => () =>
      timed(async () => expectChanges((await workspace.changes(seen, compared)).files.length))
    const commit = compare(await inTurns(rounds, listed('HEAD'), status))
    const session = compare(await inTurns(rounds, listed({ with: 'snapshot', from: tree }), status))
    const name = pathOf(files - 1)
    const open = () => timed(() => workspace.file([big], { path: name, rev: undefined, all: false }))
    const opened = compare(await inTurns(rounds, open, () => timed(() => readFile(join(big, name)))))
    return [
      {
        figure: `snapshot ${of}, the first (baseline: a later one)`,
        ...asRow({ ours: firstMs, bare: still.ours, ratio: firstMs / still.ours }),
      },
      aimed(`snapshot ${of}, no changes (baseline: git status)`, still, 200),
      aimed(`snapshot ${of}, ${changedFiles} changes (baseline: git status)`, busy, 200),
      await promptRow(big, of, rounds),
      aimed(`list of changes ${of}, since the last commit (baseline: git status)`, commit, 150),
      aimed(`list of changes ${of}, since a snapshot (baseline: git status)`, session, 150),
      aimed(`open a file in a folder ${of} (baseline: readFile)`, opened, 50),
    ]
  },
}

function expectChanges(count: number): void {
  if (count !== changedFiles) throw new Error(`${count} changes were listed.`)
}

function asRow(result: Pair & { readonly ratio: number }): Omit<Row, 'figure'> {
  return {
    value: milliseconds(result.ours),
    baseline: milliseconds(result.bare),
    ratio: result.ratio,
    data: { ...result },
  }
}

function aimed(figure: string, result: Pair & { readonly ratio: number }, aimMs: number): Row {
  return { figure, ...asRow(result), aim: `under ${aimMs} ms`, met: result.ours < aimMs }
}

/** The time from a prompt to the first output of its agent, with snapshots of the folder and without. */
async function promptRow(cwd: string, of: string, rounds: number): Promise<Row> {
  const sessionFolder = createSessionFolder({ env: process.env, root: join(cwd, '../prompt-shadows') })
  const [with_, without] = await Promise.all([promptsIn(cwd, sessionFolder), promptsIn(cwd)])
  await with_.prompt()
  await without.prompt()
  const result = compare(await inTurns(rounds, with_.prompt, without.prompt))
  await with_.host.close()
  await without.host.close()
  const delayMs = result.ours - result.bare
  return {
    figure: `a prompt in a folder ${of} until the first output (baseline: without snapshots)`,
    ...asRow(result),
    aim: `no later (within ${noticeableMs} ms)`,
    met: delayMs < noticeableMs,
  }
}

async function promptsIn(cwd: string, sessionFolder?: ReturnType<typeof createSessionFolder>) {
  const host: Host = await createHost({
    adapters: [createBenchAgent()],
    store: createMemoryStore(),
    ...(sessionFolder && { sessionFolder }),
  })
  const { id } = await host.create({ agent: 'bench', cwd })
  let heard: (type: SessionEvent['type']) => void = () => undefined
  await host.follow(
    id,
    {},
    {
      native: false,
      ...{ following: () => undefined, caughtUp: () => undefined, ended: () => undefined },
      deliver(batch) {
        for (const { kind, json } of batch)
          if (kind === 'event') heard((JSON.parse(json) as SessionEvent).type)
      },
    },
  )
  const until = (type: SessionEvent['type']) =>
    new Promise<void>((resolve) => {
      heard = (one) => one === type && resolve()
    })
  /** Milliseconds until the first output of the agent. The next prompt is sent after the snapshots of this turn. */
  const prompt = async () => {
    const spoken = until('agent.noticed')
    const start = performance.now()
    await host.command(id, promptCommand({ do: 'notice', count: 1, text: 'here' }))
    await spoken
    const ms = performance.now() - start
    while ((await host.state(id)).turn) await pause(1)
    await sessionFolder?.snapshot(cwd, { sessionId: id })
    return ms
  }
  return { host, prompt }
}
