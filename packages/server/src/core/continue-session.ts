import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type Actor,
  defined,
  type HandOffOrigin,
  type HandOffPreview,
  type HandOffQuery,
  type HandOffSource,
  isWideMode,
  type NewSession,
  ParleyError,
  type PermissionMode,
  type PromptPart,
  type Receipt,
  type SessionState,
} from '@parley/protocol'
import { handOffParts, handOverId, tellSession } from './hand-off.ts'
import type { FolderFacts } from './hand-off-writer.ts'
import type { HostSessions } from './host-sessions.ts'
import type { SessionServices } from './session-services.ts'

/** Sessions that continue the work of another session. */
export type HandOffs = {
  /** Returns the text with which another agent would continue the work. Changes nothing. */
  previewHandOff(sessionId: string, query: HandOffQuery): Promise<HandOffPreview>
}

type Parts = {
  readonly services: SessionServices
  readonly adapterFor: (agent: string) => AgentAdapter
  readonly state: HostSessions['state']
  readonly folderFacts: ((folder: string) => Promise<FolderFacts>) | undefined
}

const maxTitle = 200
/** The prompt of a session that is created without a prompt. */
const goOn = 'Continue the work that the hand-off describes.'

export function createContinuing({ services, adapterFor, state: stateOf, folderFacts }: Parts) {
  const { store, place: here, adapters } = services

  /** The facts of the folder, if it is on this machine. */
  async function factsOf({ cwd }: SessionState, place: string | undefined): Promise<FolderFacts | undefined> {
    return place === here ? folderFacts?.(cwd) : undefined
  }

  async function tell(sessionId: string, { agent, ...query }: HandOffQuery) {
    const state = await stateOf(sessionId)
    const { place } = (await store.load(sessionId)) ?? {}
    const folder = await factsOf(state, place)
    const telling = { ...query, agent: adapterFor(agent), reason: 'hand-off', folder } as const
    return { state, place, told: await tellSession(services, state, telling) }
  }

  return {
    async previewHandOff(sessionId: string, query: HandOffQuery): Promise<HandOffPreview> {
      const { attached, ...told } = (await tell(sessionId, query)).told
      return told
    },

    /** Completes the input of the new session with values of the earlier session. */
    async continued(
      input: NewSession,
      from: HandOffSource,
      { agent, mayWiden }: { readonly agent: AgentAdapter; readonly mayWiden: boolean },
    ): Promise<Continued> {
      const { sessionId, before, upTo } = from
      const { model, context, prompt = goOn } = input
      const query = { agent: agent.id, ...defined({ model, before, upTo }) }
      const { state, place, told } = await tell(sessionId, query)
      if (input.cwd === undefined && place !== here) throw elsewhere(state, place)
      const edited = context !== undefined && context !== told.text
      const text = context ?? told.text
      const words: readonly PromptPart[] =
        typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt
      return {
        ...input,
        cwd: input.cwd ?? state.cwd,
        mode: input.mode ?? inheritedMode(state, agent, mayWiden),
        title: input.title ?? titleOf(state, agent, adapters),
        prompt: [...handOffParts({ ...told, text }, sessionId, agent), ...words],
        handedFrom: { sessionId, seq: told.seq, ...defined({ before }), ...(edited && { edited }) },
      }
    },

    /** Records in the earlier session which session continues its work. A repeated call has no effect. */
    record(command: HostSessions['command'], { sessionId, into, by }: HandOver): Promise<Receipt> {
      return command(sessionId, { type: 'session.hand-over', commandId: handOverId(into), into }, by)
    },
  }
}

type HandOver = { readonly sessionId: string; readonly into: string; readonly by: Actor | undefined }

export type Continued = NewSession & {
  readonly cwd: string
  readonly mode: PermissionMode
  readonly handedFrom?: HandOffOrigin
}

function elsewhere({ cwd }: SessionState, place: string | undefined): ParleyError {
  const message = `The folder of this session, ${cwd}, is on another machine. Create the session on a server of that machine, or name a folder of this machine (cwd).`
  return new ParleyError('conflict', message, { details: { place } })
}

/** The mode of the earlier session, if the agent has it and the actor may choose it. */
function inheritedMode(
  { requested: { mode = 'ask' } }: SessionState,
  { modes }: AgentAdapter,
  mayWiden: boolean,
): PermissionMode {
  return modes.includes(mode) && (mayWiden || !isWideMode(mode)) ? mode : 'ask'
}

/** The title of the earlier session, with the name of the agent that continues it. */
function titleOf(
  { title, agent: earlier, handedFrom }: SessionState,
  { name }: AgentAdapter,
  adapters: SessionServices['adapters'],
): string {
  const suffix = ` (${adapters.get(earlier)?.name ?? earlier})`
  const plain = handedFrom && title.endsWith(suffix) ? title.slice(0, -suffix.length) : title
  return `${(plain || 'Untitled session').slice(0, maxTitle - name.length - 3)} (${name})`
}
