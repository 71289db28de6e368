import { promptFor } from './lib/claude-model.ts'
import { startClaudeSides } from './lib/claude-sides.ts'
import { type Figure, milliseconds } from './lib/figure.ts'
import { compare, inTurns } from './lib/stats.ts'

/** The first text of a session whose agent was started ahead, against one that is created with its prompt. */
export const claudeStart: Figure = {
  name: 'claude-start',
  async measure({ quick, folder }) {
    await using sides = await startClaudeSides(folder)
    const { parley } = sides
    const prompt = promptFor({ do: 'stream', deltas: 3 })
    const ahead = async () => {
      await parley.call('openAhead')
      const { firstMs } = await parley.call('turn', prompt)
      await parley.call('close')
      return firstMs
    }
    const cold = async () => {
      const { firstMs } = await parley.call('cold', prompt)
      await parley.call('close')
      return firstMs
    }
    await cold()
    const result = compare(await inTurns(quick ? 3 : 9, ahead, cold))
    return [
      {
        figure: 'claude: first text of a new session, started ahead',
        value: milliseconds(result.ours),
        baseline: milliseconds(result.bare),
        ratio: result.ratio,
        aim: 'ratio < 0.3',
        met: result.ratio < 0.3,
        data: result,
      },
    ]
  },
}
