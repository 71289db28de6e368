import { promptFor } from './lib/claude-model.ts'
import { startClaudeSides } from './lib/claude-sides.ts'
import { type Figure, milliseconds, type Row } from './lib/figure.ts'
import { compare, inTurns } from './lib/stats.ts'

/** The time to the first text of a new session, compared with the SDK alone, which starts a process for the prompt. */
export const claudeStart: Figure = {
  name: 'claude-start',
  async measure({ quick, folder }) {
    await using sides = await startClaudeSides(folder)
    const { parley, raw } = sides
    const keeping = sides.keeping()
    const prompt = promptFor({ do: 'stream', deltas: 3 })
    const cold = async () => {
      const { firstMs } = await raw.call('cold', prompt)
      await raw.call('close')
      return firstMs
    }
    const withPrompt = async (side: typeof parley) => {
      const { firstMs } = await side.call('cold', prompt)
      await side.call('close')
      return firstMs
    }
    const ahead = async () => {
      await parley.call('openAhead')
      const { firstMs } = await parley.call('turn', prompt)
      await parley.call('close')
      return firstMs
    }
    const kept = async () => {
      await keeping.call('spareReady')
      return withPrompt(keeping)
    }
    const announced = async () => {
      await keeping.call('prepare')
      return withPrompt(keeping)
    }
    await cold()
    await withPrompt(parley)
    const rounds = quick ? 3 : 9
    const rows = [
      row('created first, prompt later', compare(await inTurns(rounds, ahead, cold)), 0.3),
      row('with its prompt', compare(await inTurns(rounds, () => withPrompt(parley), cold))),
    ]
    await withPrompt(keeping)
    rows.push(row('with its prompt, spare', compare(await inTurns(rounds, kept, cold)), 0.3))
    await keeping.call('spareReady')
    rows.push(row('with its prompt, announced', compare(await inTurns(rounds, announced, cold)), 0.3))
    return rows
  },
}

function row(how: string, result: ReturnType<typeof compare>, aim?: number): Row {
  return {
    figure: `claude: first text of a new session, ${how}`,
    value: milliseconds(result.ours),
    baseline: milliseconds(result.bare),
    ratio: result.ratio,
    ...(aim !== undefined && { aim: `ratio < ${aim}`, met: result.ratio < aim }),
    data: result,
  }
}
