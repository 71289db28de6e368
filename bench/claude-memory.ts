import { promptFor } from './lib/claude-model.ts'
import { type ClaudeCalls, startClaudeSides } from './lib/claude-sides.ts'
import { type Figure, mebibytes } from './lib/figure.ts'
import type { Remote } from './lib/processes.ts'

const MiB = 2 ** 20

/**
 * The memory that a live session with the real Claude Code adds to Parley's process. The agent's own memory is not
 * included.
 */
export const claudeMemory: Figure = {
  name: 'claude-memory',
  async measure({ quick, folder }) {
    await using sides = await startClaudeSides(folder)
    const count = quick ? 4 : 10
    const ours = await growth(sides.parley, count)
    const bare = await growth(sides.raw, count)
    return [
      {
        figure: `claude: each live session in the process of Parley (${mebibytes(ours.heap)} of it heap)`,
        value: mebibytes(ours.rss),
        baseline: mebibytes(bare.rss),
        ratio: ours.heap / bare.heap,
        aim: '< 1 MiB',
        met: ours.rss < MiB,
        data: { ours: ours.rss, bare: bare.rss, oursHeap: ours.heap, bareHeap: bare.heap },
      },
    ]
  },
}

/** The memory growth per session over `count` sessions, after three sessions, which load the shared code and data. */
async function growth(side: Remote<ClaudeCalls>, count: number) {
  await openSessions(side, 3)
  const before = await side.call('memory')
  await openSessions(side, count)
  const after = await side.call('memory')
  return { rss: (after.rss - before.rss) / count, heap: (after.heap - before.heap) / count }
}

async function openSessions(side: Remote<ClaudeCalls>, count: number): Promise<void> {
  const prompt = promptFor({ do: 'stream', deltas: 3 })
  for (let index = 0; index < count; index++) {
    await side.call('open')
    for (let turn = 0; turn < 2; turn++) await side.call('turn', prompt)
  }
}
