import type { AgentOutput, PermissionAsk } from '@parley/adapter-kit'
import { replaceDiff, type Session, writeDiff } from '@parley/adapter-kit/file-diff'
import { noOutput, withCall } from '@parley/adapter-kit/translation'
import { type Diff, isRecord, type ToolOutcome } from '@parley/protocol'
import { inputOf, isGiven, type Mention, mergedCall, pathsOfCall, shown } from './describe-call.ts'
import type { NativeCall, NativeToolContent } from './native.ts'
import { diffsIn, resultOf, textIn } from './translate-content.ts'
import { type Call, ourId, sequence, type TranslateState, type Translation } from './translate-state.ts'
import { closeText, parentField, parentOf } from './translate-text.ts'

const endedStatus = new Set(['completed', 'failed', 'cancelled'])
const startedStatus = new Set(['in_progress', 'completed', 'failed'])

/**
 * Handles a message about a call. The call is recorded once its input is known. An announced call may still receive its
 * input: it stays a draft until it runs, permission is requested, or another message arrives. A call that is first
 * mentioned at its end is recorded as well.
 */
export function takeCall(state: TranslateState, native: NativeCall, mention: Mention): Translation {
  if (state.replaying) return noOutput(state)
  const known = state.calls.get(native.toolCallId)
  if (known?.stage === 'ended') {
    if (mention === 'updated') return late(state, known, native)
    return begin(state, native, mention)
  }
  if (!known) return begin(state, native, mention)
  const merged = mergedCall(state, known, native, mention)
  return recordProgress(withCall(state, native.toolCallId, merged), native, { before: known, mention })
}

function begin(before: TranslateState, native: NativeCall, mention: Mention): Translation {
  const { toolCallId: nativeId } = native
  const use = (before.uses.get(nativeId) ?? 0) + 1
  const uses = new Map(before.uses).set(nativeId, use)
  const parent = parentOf(before, native)
  const empty: Call = {
    id: ourId(before, use === 1 ? nativeId : `${nativeId}#${use}`),
    stage: 'draft',
    name: '',
    kind: 'other',
    title: '',
    rawInput: undefined,
    input: undefined,
    content: [],
    locations: [],
    parent,
    asked: false,
    refused: undefined,
    started: false,
    ofTurn: before.turn !== undefined,
  }
  return sequence(
    { ...before, uses },
    (now) => closeText(now, parent ?? ''),
    (now) => {
      const call = mergedCall(now, empty, native, mention)
      const state = withCall(now, nativeId, call)
      const isDraft = mention === 'announced' && !startedStatus.has(native.status ?? '')
      if (!isDraft) return recordProgress(state, native, { before: undefined, mention })
      const { id: toolCallId, name, kind } = call
      const drafted: AgentOutput = {
        type: 'tool-call.drafted',
        toolCallId,
        name,
        kind,
        ...parentField(parent),
      }
      return { state, outputs: [drafted] }
    },
  )
}

function recordProgress(
  state: TranslateState,
  native: NativeCall,
  { before, mention }: { before: Call | undefined; mention: Mention },
): Translation {
  const { toolCallId: nativeId, status } = native
  const started = startedStatus.has(status ?? '')
  const runs = state.dialect.asksWhileRunning ? endedStatus.has(status ?? '') : started
  if (before?.stage === 'draft' && mention === 'updated' && !started) return noOutput(state)
  return sequence(
    state,
    (now) => called(now, nativeId, { inferred: !before && mention === 'updated' }),
    (now) => (before?.stage === 'called' ? changed(now, native, before) : noOutput(now)),
    (now) => (runs ? noteStart(now, nativeId) : noOutput(now)),
    (now) => (status ? ended(now, native) : noOutput(now)),
  )
}

/** Records the call if it was a draft. */
function called(state: TranslateState, nativeId: string, { inferred = false } = {}): Translation {
  const call = state.calls.get(nativeId)
  if (call?.stage !== 'draft') return noOutput(state)
  const { id, name, kind, parent } = call
  const input = inferred ? (call.rawInput ?? null) : inputOf(state, call)
  const output: AgentOutput = {
    type: 'tool-call.called',
    toolCallId: id,
    name,
    kind,
    title: shown(call.title),
    input,
    ...(call.locations.length > 0 && { locations: [...call.locations] }),
    ...(inferred && { inferred: true as const }),
    ...parentField(parent),
  }
  return {
    state: withCall(state, nativeId, { ...call, stage: 'called', input }),
    outputs: [output],
  }
}

function changed(
  state: TranslateState,
  { toolCallId: nativeId, status }: NativeCall,
  before: Call,
): Translation {
  const call = state.calls.get(nativeId)
  if (!call) return noOutput(state)
  const input = isGiven(call.rawInput) ? call.rawInput : call.input
  const differs = {
    ...(call.title !== before.title && { title: shown(call.title) }),
    ...(call.kind !== before.kind && { kind: call.kind }),
    ...(!same(input, before.input) && { input }),
    ...(!same(call.locations, before.locations) && { locations: [...call.locations] }),
  }
  const { id, parent } = call
  const outputs = endedStatus.has(status ?? '') ? [] : streamed(state, before, call)
  if (Object.keys(differs).length > 0)
    outputs.push({ type: 'tool-call.updated', toolCallId: id, ...differs, ...parentField(parent) })
  return { state: withCall(state, nativeId, { ...call, input }), outputs }
}

/**
 * The new output of a running call: the text that was added to its content. It is only streamed, because the end of the
 * call contains the whole output.
 */
function streamed({ dialect }: TranslateState, before: Call, call: Call): AgentOutput[] {
  if (!before.started && !dialect.asksWhileRunning) return []
  const was = textIn(before.content)
  const now = textIn(call.content)
  if (now === was || !now.startsWith(was)) return []
  return [{ type: 'tool-call.output-streamed', toolCallId: call.id, text: now.slice(was.length) }]
}

function noteStart(state: TranslateState, nativeId: string): Translation {
  const call = state.calls.get(nativeId)
  if (!call || call.started) return noOutput(state)
  const next = withCall(state, nativeId, { ...call, started: true })
  const ask = call.ofTurn && !call.asked ? askFor(next, nativeId) : undefined
  return { state: next, outputs: [], ...(ask && { unasked: [ask] }) }
}

function ended(state: TranslateState, native: NativeCall): Translation {
  const { toolCallId: nativeId, status } = native
  const call = state.calls.get(nativeId)
  if (!call || (status !== 'completed' && status !== 'failed' && status !== 'cancelled'))
    return noOutput(state)
  const result = { content: native.content ?? undefined, rawOutput: native.rawOutput, _meta: native._meta }
  const output: AgentOutput = {
    type: 'tool-call.ended',
    toolCallId: call.id,
    outcome: outcomeOf(state, call, status, result.content),
    content: resultOf(state, call, result),
    ...parentField(call.parent),
  }
  return sequence(
    state,
    (now) => closeText(now, call.id),
    (now) => ({ state: forget(now, nativeId), outputs: [output] }),
  )
}

function outcomeOf(
  { dialect, turn }: TranslateState,
  call: Call,
  status: 'completed' | 'failed' | 'cancelled',
  content: readonly NativeToolContent[] | undefined,
): ToolOutcome {
  if (status === 'cancelled') return 'cancelled'
  if (status === 'failed') return call.refused ?? (turn?.interrupting ? 'cancelled' : 'failed')
  const stopped = dialect.cancelledOutput && new RegExp(dialect.cancelledOutput).test(textIn(content ?? []))
  return stopped ? 'cancelled' : 'completed'
}

/** Ends the call and drops its input, content and locations. */
function forget(state: TranslateState, nativeId: string): TranslateState {
  const call = state.calls.get(nativeId)
  if (!call) return state
  return withCall(state, nativeId, {
    ...call,
    stage: 'ended',
    rawInput: undefined,
    input: undefined,
    content: [],
    locations: [],
  })
}

/**
 * Handles a message about a call that has ended. If the call was refused, the host ended the call and the message is
 * dropped. Otherwise the message becomes an update, which the host records as unrecognised.
 */
function late(state: TranslateState, call: Call, native: NativeCall): Translation {
  const says = native.title ?? native.content ?? native.rawOutput ?? native.status
  if (call.refused || says === undefined || says === null) return noOutput(state)
  const { id, parent } = call
  const title = native.title ?? undefined
  const content = resultOf(state, call, { content: native.content ?? [], rawOutput: native.rawOutput })
  return {
    state,
    outputs: [
      {
        type: 'tool-call.updated',
        toolCallId: id,
        ...(title && { title }),
        content,
        ...parentField(parent),
      },
    ],
  }
}

/** Records all draft calls except `except`, since another message arrived. */
export function callDrafts(state: TranslateState, except?: string): Translation {
  const drafts = [...state.calls].filter(([nativeId, { stage }]) => stage === 'draft' && nativeId !== except)
  return sequence(
    state,
    ...drafts.map(
      ([nativeId]) =>
        (now: TranslateState) =>
          called(now, nativeId),
    ),
  )
}

/** Ends refused calls: some agents send nothing more about a refused call and just continue. */
export function endRefused(state: TranslateState, except?: string): Translation {
  const refused = [...state.calls].filter(
    ([nativeId, call]) => call.refused && call.stage === 'called' && nativeId !== except,
  )
  return sequence(
    state,
    ...refused.map(([nativeId, call]) => (now: TranslateState): Translation => {
      const outcome = call.refused ?? 'denied'
      const output: AgentOutput = {
        type: 'tool-call.ended',
        toolCallId: call.id,
        outcome,
        content: [],
        ...parentField(call.parent),
      }
      return { state: forget(now, nativeId), outputs: [output] }
    }),
  )
}

/** The permission request for a call, in the form that the host expects. */
export function askFor(state: TranslateState, nativeId: string): PermissionAsk | undefined {
  const call = state.calls.get(nativeId)
  if (!call) return undefined
  const { id, name, kind, title, parent, input } = call
  const diffs = diffsIn(call.content)
  return {
    toolCallId: id,
    tool: name,
    kind,
    title: shown(title),
    input,
    ...parentField(parent),
    ...(diffs.length > 0 && { diffs }),
  }
}

/**
 * The changes of a call as diffs against the current files, because an agent may show only the text that it replaces.
 */
export async function diffsFor(
  state: TranslateState,
  nativeId: string,
  session: Session,
): Promise<{ diffs?: Diff[] }> {
  const { content = [], rawInput } = state.calls.get(nativeId) ?? {}
  const everywhere = isRecord(rawInput) && rawInput.replace_all === true
  const diffs = content.flatMap(({ type, path, oldText, newText = '' }) => {
    if (type !== 'diff' || path === undefined) return []
    return oldText
      ? replaceDiff(path, [{ old: oldText, new: newText, everywhere }], session)
      : writeDiff(path, newText, session)
  })
  return diffs.length > 0 ? { diffs: await Promise.all(diffs) } : {}
}

export function pathsFor(state: TranslateState, nativeId: string): string[] {
  const call = state.calls.get(nativeId)
  return call ? pathsOfCall(call) : []
}

/** The calls that run or wait for an answer, with the files that they name. */
export function openCalls(state: TranslateState): { ask: PermissionAsk; paths: string[] }[] {
  return [...state.calls].flatMap(([nativeId, { stage, locations, content }]) => {
    const ask = stage === 'called' ? askFor(state, nativeId) : undefined
    const paths = [...locations, ...content].flatMap(({ path }) => path ?? [])
    return ask ? [{ ask, paths }] : []
  })
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
