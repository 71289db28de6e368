import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Task } from './lib/bench-agent.ts'
import { promptFor } from './lib/claude-model.ts'
import { startClaudeSides } from './lib/claude-sides.ts'
import { type Figure, mebibytes, type Row } from './lib/figure.ts'
import { type ParleyServer, promptCommand, startParleyServer } from './lib/servers.ts'
import { pieces } from './lib/words.ts'

const deltasABlock = 250
const blocksATurn = 100

/** The bytes on disk for a streamed session, including the write-ahead log, compared with its final content. */
export const storedBytes: Figure = {
  name: 'stored-bytes',
  async measure({ quick, folder }) {
    const turns = 40
    const content = contentBytes(turns)
    const deltas = (turns * blocksATurn * deltasABlock).toLocaleString('en')
    const fast = await streamSession({ turns, dataDir: join(folder, 'fast'), checkpointMs: 1_000 })
    const rows = [
      row(`bytes stored for ${deltas} deltas`, fast.last, content),
      withoutAim(row('the same, maximum during a turn', fast.most, content)),
      row('the same, after close', fast.closed, content),
    ]
    rows.push(await claudeRow(join(folder, 'claude'), quick ? 10 : 40))
    if (quick) return rows
    // A real agent takes seconds for a block, which is checkpointed a few times before it is recorded. A short
    // checkpoint interval imitates that.
    const slow = await streamSession({ turns, dataDir: join(folder, 'slow'), checkpointMs: 1, each: 'tick' })
    rows.push(row('the same, with each block checkpointed while it is written', slow.last, content))
    return rows
  },
}

/**
 * Measures the real Claude Code, with turns of 15 to 35 KB. The figure is the difference of two runs, so data
 * that is recorded once per session cancels out.
 */
async function claudeRow(folder: string, turns: number): Promise<Row> {
  const one = await streamClaude(join(folder, 'one'), 1)
  const many = await streamClaude(join(folder, 'many'), 1 + turns)
  const figure = `bytes stored for ${turns} turns of the real Claude, after close`
  return row(figure, many.stored - one.stored, many.content - one.content)
}

async function streamClaude(folder: string, turns: number) {
  let content = 0
  {
    await using sides = await startClaudeSides(folder)
    await sides.parley.call('open')
    for (let turn = 0; turn < turns; turn++) {
      const prompt = promptFor({ do: 'stream', deltas: deltasOf(turn) })
      content += (await sides.parley.call('turn', prompt)).length + prompt.length
    }
  }
  return { content, stored: sizeOf(join(folder, 'parley')) }
}

/**
 * The number of deltas of a turn. Turns differ in length, so that the result does not depend on the fit of one length
 * to the pages of the file.
 */
function deltasOf(turn: number): number {
  return 3_000 + ((turn * 1_700) % 4_000)
}

type Streaming = { turns: number; dataDir: string; checkpointMs: number; each?: 'tick' }

async function streamSession({ turns, dataDir, checkpointMs, each }: Streaming) {
  const parley = await startParleyServer(dataDir, { limits: { checkpointMs } })
  const session = await parley.createSession('bench', dataDir)
  const task: Task = {
    do: 'stream',
    deltas: blocksATurn * deltasABlock,
    blocks: blocksATurn,
    ...(each && { each }),
  }
  let most = 0
  for (let turn = 1; turn <= turns; turn++) {
    await parley.request('POST', `/api/sessions/${session}/commands`, promptCommand(task))
    while ((await turnsOf(parley, session)) < turn) {
      most = Math.max(most, sizeOf(dataDir))
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  await walTrimmed(dataDir)
  const last = sizeOf(dataDir)
  await parley.remote.stop()
  return { most: Math.max(most, last), last, closed: sizeOf(dataDir) }
}

async function turnsOf(parley: ParleyServer, session: string): Promise<number> {
  return (await parley.request<{ turns: number }>('GET', `/api/sessions/${session}?tail=0`)).turns
}

/** Waits until the server has emptied the write-ahead log, which it does within a second after a turn. */
async function walTrimmed(dataDir: string): Promise<void> {
  const wal = () => statSync(join(dataDir, 'parley.sqlite-wal'), { throwIfNoEntry: false })?.size ?? 0
  for (let tries = 0; wal() > 262_144 && tries < 300; tries++)
    await new Promise((resolve) => setTimeout(resolve, 10))
}

function contentBytes(turns: number): number {
  let bytes = 0
  for (let block = 0; block < blocksATurn; block++) {
    bytes += Buffer.byteLength(pieces(block, deltasABlock).join(''))
  }
  return bytes * turns
}

function sizeOf(dataDir: string): number {
  const files = ['parley.sqlite', 'parley.sqlite-wal', 'parley.sqlite-shm']
  return files.reduce(
    (sum, file) => sum + (statSync(join(dataDir, file), { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

function row(figure: string, stored: number, content: number): Row {
  return {
    figure,
    value: mebibytes(stored),
    baseline: mebibytes(content),
    ratio: stored / content,
    aim: 'ratio <= 1.3',
    met: stored / content <= 1.3,
    data: { stored, content },
  }
}

/**
 * Removes the aim of a row that is measured during a turn: the write-ahead log grows to a mebibyte, whatever the size
 * of the content, and is emptied at the end of the turn.
 */
function withoutAim({ aim, met, ...rest }: Row): Row {
  return rest
}
