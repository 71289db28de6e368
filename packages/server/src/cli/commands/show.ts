import {
  ParleyError,
  promptText,
  runningInBackground,
  type SessionDetail,
  type SessionNode,
} from '@parley/protocol'
import { sessionFacts } from '../../transcripts/documents/block-text.ts'
import type { Flags } from '../configuration.ts'
import { connect } from '../connect.ts'
import type { Context } from '../context.ts'
import { existingConfigurationOf } from '../existing-data.ts'
import { findSession } from '../session-reference.ts'
import { timelineLines } from '../terminal/block-lines.ts'
import { callLabel } from '../terminal/rows.ts'
import { oneLine } from '../terminal/visible.ts'

export type ShowOptions = Flags & { readonly json?: boolean; readonly tail?: string }

const maxBlocks = 500

/** Prints a session's state and its last blocks, as text or, with --json, as the server returns them. */
export async function show(reference: string, options: ShowOptions, context: Context): Promise<number> {
  const { output, commandLine } = context
  const tail = tailOf(options.tail)
  await using server = await connect(existingConfigurationOf(context, options), context)
  const id = await findSession(server.client, reference, context)
  const detail = await server.client.call('getSession', { params: { id }, query: { tail } })
  const where =
    detail.place === undefined ? {} : await server.client.call('getSessionNode', { params: { id } })
  if (options.json) {
    output.out(`${JSON.stringify({ ...detail, ...where }, null, 2)}\n`)
    return 0
  }
  output.out(`${detailLines(detail, where, context).join('\n')}\n`)
  if (detail.firstSeq > 1 && tail > 0) {
    const all = commandLine(`export ${id} --as markdown`)
    output.err(`Only the last ${detail.blocks.length} blocks are shown. To print all: ${all}\n`)
  }
  return 0
}

function detailLines(detail: SessionDetail, where: Partial<SessionNode>, { output }: Context): string[] {
  const { outStyle: style, columns, isOutTerminal } = output
  const facts = { style, columns: isOutTerminal ? columns() : Number.POSITIVE_INFINITY }
  return [
    style.bold(oneLine(detail.title) || 'Untitled session'),
    ...[...sessionFacts(detail), ...placeFacts(where)].map(
      ([name, value]) => `${style.dim(`${name}:`)} ${oneLine(value)}`,
    ),
    ...timelineLines(detail.blocks, facts),
    '',
    ...stateLines(detail),
  ]
}

function placeFacts({ machine, node, awaited }: Partial<SessionNode>): [name: string, value: string][] {
  if (machine === undefined) return []
  const away = ': no server runs there now; the session continues when one does'
  return [
    ['Machine', `${machine}${awaited ? away : ''}`],
    ['Node', node?.url ?? 'none; the next command loads the session on a node of that machine'],
  ]
}

/** The parts of the session's state that its blocks do not show. */
export function stateLines(state: SessionDetail): string[] {
  const { requests, queue, plan, usage, openBlocks, connection } = state
  const window = usage?.context.window ? ` of ${usage.context.window}` : ''
  const mode = state.effective.mode ?? state.requested.mode
  return [
    `Status: ${state.status}${state.archived ? ', archived' : ''}, ${state.turns === 1 ? '1 turn' : `${state.turns} turns`}, mode ${mode ?? 'ask'}`,
    `Trust: the folder is ${state.trusted ? 'trusted' : 'not trusted'}`,
    ...(connection?.loaded
      ? [`Loaded: settings of ${connection.loaded.map((one) => oneLine(one)).join(', ')}`]
      : []),
    ...(connection?.credential ? [`Paid with: ${oneLine(connection.credential)}`] : []),
    ...(state.terminal
      ? [`Continue in the agent's own program: ${state.terminal.map((one) => oneLine(one)).join(' ')}`]
      : []),
    ...requests.map((request) =>
      request.type === 'permission'
        ? `Waiting for you: permission, ${callLabel(request).kind}${oneLine(callLabel(request).title)}`
        : `Waiting for you: question, ${request.questions.map(({ text }) => oneLine(text)).join(' / ')}`,
    ),
    ...queue.map(
      (prompt) => `${prompt.paused ? 'Paused' : 'Queued'}: ${oneLine(promptText(prompt.parts), 100)}`,
    ),
    ...runningInBackground(state).map((task) => `In the background: ${oneLine(task.title)} (${task.taskId})`),
    ...plan.map((entry) => `Plan: ${entry.status}, ${oneLine(entry.text)}`),
    ...openBlocks.map(
      (block) => `In progress: ${oneLine(block.type === 'tool-call' ? block.name : block.text, 100)}`,
    ),
    ...(usage ? [`Context: ${usage.context.used}${window} tokens`] : []),
  ]
}

function tailOf(given: string | undefined): number {
  if (given === undefined) return 50
  if (/^\d{1,3}$/.test(given) && Number(given) <= maxBlocks) return Number(given)
  throw new ParleyError('validation_error', `--tail takes a number from 0 to ${maxBlocks}, not "${given}".`)
}
