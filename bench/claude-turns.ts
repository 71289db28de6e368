import { promptFor } from './lib/claude-model.ts'
import { startClaudeSides } from './lib/claude-sides.ts'
import { type Figure, milliseconds } from './lib/figure.ts'
import { compare, inTurns, median, type Pair } from './lib/stats.ts'

/**
 * The time from a prompt to the first text with the real Claude Code, from its second turn on. Compared with a simple
 * program that resumes the conversation in a new process per turn, with a live query of the SDK (the best possible
 * case), and with one request to the Messages API, without an agent.
 */
export const claudeTurns: Figure = {
  name: 'claude-turns',
  async measure({ quick, folder }) {
    await using sides = await startClaudeSides(folder)
    const { parley, raw, url } = sides
    const prompt = promptFor({ do: 'stream', deltas: 3 })
    const pairs: Pair[] = []
    const resumed: number[] = []
    const direct: number[] = []
    const ourTurn = async () => (await parley.call('turn', prompt)).firstMs
    const rawTurn = async () => (await raw.call('turn', prompt)).firstMs
    await parley.call('open')
    await raw.call('open')
    await raw.call('turnByResume', prompt)
    await directTurn(url, prompt)
    await inTurns(5, ourTurn, rawTurn)
    for (let round = 0; round < (quick ? 2 : 8); round++) {
      pairs.push(...(await inTurns(8, ourTurn, rawTurn)))
      resumed.push((await raw.call('turnByResume', prompt)).firstMs)
      direct.push(await directTurn(url, prompt))
    }
    const { ours: parleyMs, bare: liveMs } = compare(pairs)
    const resumedMs = median(resumed)
    const directMs = median(direct)
    const added = median(pairs.map(({ ours, bare }) => ours - bare))
    return [
      {
        figure: 'claude: first text of a later turn, against a process per turn',
        value: milliseconds(parleyMs),
        baseline: milliseconds(resumedMs),
        ratio: parleyMs / resumedMs,
        aim: 'ratio <= 0.1',
        met: parleyMs <= resumedMs / 10,
        data: { ours: parleyMs, resumed: resumedMs },
      },
      {
        figure: 'claude: the same, time added to a live query of the SDK',
        value: `${added < 0 ? '' : '+'}${milliseconds(added)}`,
        baseline: milliseconds(liveMs),
        ratio: parleyMs / liveMs,
        aim: '<= 3 ms',
        met: added <= 3,
        data: { ours: parleyMs, live: liveMs, added },
      },
      {
        figure: 'claude: the same, against one request to the Messages API',
        value: milliseconds(parleyMs),
        baseline: milliseconds(directMs),
        ratio: parleyMs / directMs,
        aim: 'none: the difference is the work of the agent',
        met: true,
        data: { ours: parleyMs, direct: directMs },
      },
    ]
  },
}

/** The time from the request to the first text, without an agent. */
async function directTurn(url: string, prompt: string): Promise<number> {
  const start = performance.now()
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'placeholder' },
    body: JSON.stringify({
      model: 'bench',
      max_tokens: 100,
      stream: true,
      messages: [{ role: 'user', content: prompt }],
    }),
  })
  let firstMs: number | undefined
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (firstMs === undefined && text.includes('text_delta')) firstMs = performance.now() - start
  }
  if (firstMs === undefined) throw new Error('The model gave no text.')
  return firstMs
}
