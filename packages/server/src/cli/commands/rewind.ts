import { relative, resolve } from 'node:path'
import type { Client } from '@parley/client'
import {
  defined,
  type EventOf,
  type LeftReason,
  leftReasonTexts,
  ParleyError,
  type RewindFile,
  type RewindPreview,
  type SessionEvent,
  type SessionState,
} from '@parley/protocol'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { type Output, printResult } from '../terminal/output.ts'
import { oneLine } from '../terminal/visible.ts'

type Options = Flags & {
  readonly talk?: boolean
  readonly files?: boolean
  readonly preview?: boolean
  readonly json?: boolean
}

/** Rewinds to the state before a prompt, or with `preview` lists the files that a rewind would restore. */
export async function rewind(
  reference: string,
  prompt: string,
  named: readonly string[],
  options: Options,
  context: Context,
): Promise<number> {
  const { talk = false, files = true, preview, json } = options
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const id = await findSession(client, reference, context)
  const state = await client.call('getSession', { params: { id }, query: { tail: 0 } })
  const promptId = prompt === 'last' ? lastPrompt(state) : prompt
  if (preview) {
    const found = await client.call('previewRewind', { params: { id }, query: { promptId } })
    if (json) context.output.out(`${JSON.stringify(found)}\n`)
    else print(found, context.output)
    return 0
  }
  const paths =
    named.length > 0 ? named.map((path) => inFolder(state, resolve(context.cwd, path), path)) : undefined
  const command = { type: 'session.rewind', promptId, talk, files, ...defined({ paths }) } as const
  const rewound = await endOf(client, id, (await client.command(id, command)).seq, 'session.rewound')
  const text = `${rewoundText(rewound)} Undo: ${context.commandLine(`unrewind ${id}`)}`
  return printResult(context.output, json, { value: rewound, text })
}

export async function unrewind(
  reference: string,
  options: Flags & Pick<Options, 'json'>,
  context: Context,
): Promise<number> {
  await using server = await connect(existingConfigurationOf(context, options), context)
  const { client } = server
  const id = await findSession(client, reference, context)
  const { seq } = await client.command(id, { type: 'session.unrewind' })
  const unrewound = await endOf(client, id, seq, 'session.unrewound')
  const text = `Undid the rewind of ${id}.${leftText(unrewound.files)}`
  return printResult(context.output, options.json, { value: unrewound, text })
}

function lastPrompt({ heard }: SessionState): string {
  const last = heard?.at(-1)
  if (last) return last.promptId
  throw new ParleyError('conflict', 'No prompt has started a turn in this session.')
}

/** The path in the folder of the session. A path may also be relative to the current folder of the person. */
function inFolder({ cwd }: SessionState, place: string, path: string): string {
  const inside = relative(cwd, place)
  return inside.startsWith('..') ? path : inside
}

/**
 * The event with the result of the command. It follows at once, or after the event that started the
 * restoration.
 */
async function endOf<Type extends 'session.rewound' | 'session.unrewound'>(
  client: Client,
  id: string,
  seq: number,
  type: Type,
): Promise<EventOf<Type>> {
  const { events } = await client.call('events', { params: { id }, query: { after: seq - 1, limit: 100 } })
  const found = (events as SessionEvent[]).find((event): event is EventOf<Type> => event.type === type)
  if (found) return found
  throw new ParleyError('conflict', 'The files were not restored. See the session for the reason.')
}

function rewoundText({ files, talk }: EventOf<'session.rewound'>): string {
  const talked = talk ? 'Took the turns since the prompt back.' : ''
  const restored = files ? `Restored ${filesText(files.count)}.${leftText(files)}` : ''
  return [talked, restored].filter(Boolean).join(' ')
}

function leftText(files: EventOf<'session.rewound'>['files']): string {
  const { left } = files ?? {}
  if (!left) return ''
  const named = left.paths.map(({ path, reason }) => `${oneLine(path)} (${leftReasonTexts[reason]})`)
  const more = left.count > named.length ? ` and ${left.count - named.length} more` : ''
  return ` Left alone: ${named.join(', ')}${more}.`
}

const filesText = (count: number) => (count === 1 ? '1 file' : `${count} files`)

const actions: Readonly<Record<RewindFile['action'], string>> = {
  change: 'restore',
  create: 'bring back',
  delete: 'remove',
}

function print({ files, cut, leftOut, late, commits, inUse }: RewindPreview, { out, err }: Output): void {
  const line = (what: string, path: string, left?: LeftReason) =>
    out(`${what.padEnd(12)}${oneLine(path)}${left ? ` (${leftReasonTexts[left]})` : ''}\n`)
  for (const { path, action, left } of files) line(left ? 'leave alone' : actions[action], path, left)
  for (const { path } of leftOut) line('not stored', path)
  if (files.length === 0) err('No file has to be restored.\n')
  if (cut) err('The list is not complete: there are more files.\n')
  if (late)
    err(
      'A command had begun before the snapshot was complete. The snapshot may contain some of its changes.\n',
    )
  if (commits) err('Commits since the prompt stay: HEAD does not move.\n')
  if (inUse) err('Another session works in this folder. A rewind is refused until its turn ends.\n')
}
