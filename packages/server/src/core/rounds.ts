import {
  defined,
  type KnownSnapshot,
  NewRound,
  type NewRoundInput,
  type NewSessionInput,
  ParleyError,
  projectOfId,
  projectRoot,
  type Round,
  type SessionSummary,
  summarise,
} from '@parley/protocol'
import { checked } from './checked.ts'
import type { OwnParts, SessionCreation } from './create-session.ts'
import type { HostSessions } from './host-sessions.ts'
import { attemptSessionId, type FoundAttempt, roundIdFrom, stateIfThere } from './round-attempts.ts'
import { roundOf } from './round-view.ts'
import { isTrusted, type SessionServices } from './session-services.ts'
import type { SessionQuery } from './session-store.ts'
import { settingsFor } from './session-worktrees.ts'

/**
 * Prompts that several agents get, each in its own worktree of the same commit. A round consists of its sessions;
 * nothing else is stored.
 */
export type Rounds = {
  /**
   * Makes a session for each attempt. Nothing is made if one of them asks for what the host or its agent does not
   * support. An attempt whose agent cannot be started fails alone.
   */
  createRound(input: NewRoundInput, own?: Pick<OwnParts, 'by' | 'mayInheritWideMode'>): Promise<Round>
  /** Shows the attempts that `sees` accepts. Rejects with ParleyError `not_found` if there are none. */
  round(roundId: string, sees?: SeesSession): Promise<Round>
  /** The most recently changed first. A round without an attempt that `sees` accepts is left out. */
  rounds(query: RoundQuery, sees?: SeesSession): Promise<RoundPage>
  /** The locations of the files of a round's attempts. */
  attemptFiles(roundId: string, sees?: SeesSession): Promise<AttemptFiles[]>
}

export type SeesSession = (session: SessionSummary) => boolean

export type RoundQuery = Pick<SessionQuery, 'within' | 'limit' | 'cursor'> & {
  /** The id of a project. */
  readonly project?: string
}

export type RoundPage = { readonly rounds: Round[]; readonly cursor?: string }

/** The files of an attempt: before its first turn, and as they are now or were before the worktree was removed. */
export type AttemptFiles = {
  readonly attempt: number
  readonly sessionId: string
  /**
   * A folder from which the snapshots can be read: that of the session or, if its worktree was removed, the
   * corresponding folder of the work tree from which it was made, which may not exist.
   */
  readonly folder: { readonly path: string; readonly trusted: boolean }
  /** Whether the folder is on this machine. */
  readonly isHere: boolean
  /** Absent if there is no snapshot, as before the first turn. */
  readonly first?: KnownSnapshot
  /** Absent: the folder as it is now. */
  readonly last?: { readonly tree: string }
}

type Parts = {
  readonly services: SessionServices
  readonly creation: Pick<SessionCreation, 'create' | 'expectCreatable'>
  readonly hostSessions: Pick<HostSessions, 'list'>
}

export function createRounds({ services, creation, hostSessions }: Parts): Rounds {
  const { store, ids } = services

  async function attemptsOf(roundId: string, sees: SeesSession = () => true): Promise<FoundAttempt[]> {
    const found = await Promise.all(
      numbers.map(async (attempt) => {
        const state = await stateIfThere(store, attemptSessionId({ id: roundId, attempt }))
        if (state?.round?.id !== roundId) return undefined
        const place = services.place === undefined ? undefined : (await store.load(state.id))?.place
        return sees({ ...summarise(state), ...defined({ place }) }) ? { state, place } : undefined
      }),
    )
    return found.filter((one) => one !== undefined)
  }

  async function shown(roundId: string, sees: SeesSession | undefined, isWhole: boolean): Promise<Round> {
    const attempts = await attemptsOf(roundId, sees)
    const [first] = attempts
    if (!first)
      throw new ParleyError('not_found', `There is no round ${roundId}. List the rounds to see their ids.`)
    const { check } = await settingsFor({ store, place: first.place }, first.state.project)
    return roundOf(store, attempts, { isWhole, checkable: check !== undefined })
  }

  return {
    async createRound(given, own = {}) {
      const asked = checked(NewRound, given, 'The new round')
      const id = asked.commandId ? roundIdFrom(asked.commandId) : ids('rnd')
      const inputs = inputsOf(asked, folderOf(services, asked))
      for (const input of inputs) await creation.expectCreatable(input)
      const found = await attemptsOf(id)
      let at = found.find(({ state }) => state.worktree)?.state.worktree
      const isThere = (index: number) => found.some(({ state }) => state.round?.attempt === index + 1)
      // Existing attempts come first: they refuse a different request before a new attempt is made.
      const inOrder = [...inputs.entries()].toSorted(([a], [b]) => Number(isThere(b)) - Number(isThere(a)))
      for (const [index, input] of inOrder) {
        const round = { id, attempt: index + 1, count: inputs.length }
        const begin = at && { base: at.base, ...defined({ from: at.from, remote: at.remote }) }
        const attempt = { suffix: suffixOf(inputs, index), ...defined({ at: begin }) }
        const { worktree } = await creation
          .create(input, { ...own, round, attempt })
          .catch((error: unknown) => {
            // If the first attempt fails, or one whose session exists already, the whole request is refused.
            throw at === undefined || isThere(index) ? error : madeInPart(error, id)
          })
        at ??= worktree
      }
      return shown(id, undefined, true)
    },
    round: (roundId, sees) => shown(roundId, sees, true),
    async rounds({ project, ...query }, sees) {
      const rounds: Round[] = []
      let { cursor } = query
      do {
        const page = await hostSessions.list({
          ...query,
          ...defined({ project, cursor }),
          inRound: true,
          limit: query.limit - rounds.length,
        })
        for (const session of page.sessions) {
          if (sees && !sees(session)) continue
          const { id } = session.round ?? {}
          const attempts = id === undefined ? [] : await attemptsOf(id, sees)
          // A round is listed at the position of its first listed session, so that no page repeats the round.
          if (id === undefined || firstListed(attempts) !== session.id) continue
          rounds.push(await shown(id, sees, false))
        }
        cursor = page.cursor
      } while (cursor !== undefined && rounds.length < query.limit)
      return { rounds, ...defined({ cursor }) }
    },
    async attemptFiles(roundId, sees) {
      const attempts = await attemptsOf(roundId, sees)
      return attempts.map((one) => filesOf(services, one))
    },
  }
}

/** The error if an attempt cannot be made after others were made. The attempts that were made continue. */
function madeInPart(error: unknown, round: string): unknown {
  if (!(error instanceof ParleyError)) return error
  const message = `${error.message} The round ${round} was made in part. If the request has a commandId, send it again to make the missing attempts.`
  return new ParleyError(error.code, message, { details: { ...error.details, round }, cause: error })
}

const numbers = [1, 2, 3, 4, 5]

function inputsOf(
  { attempts, prompt, title, base, copy, commandId }: NewRound,
  cwd: string,
): NewSessionInput[] {
  return attempts.map(({ agent, model, mode, options }) => ({
    ...{ agent, cwd, prompt },
    ...defined({ model, mode, options, title, commandId }),
    worktree: defined({ base, copy }),
  }))
}

function folderOf({ place }: SessionServices, { cwd, project: id }: NewRound): string {
  if (cwd !== undefined) return cwd
  const at = id === undefined ? undefined : projectOfId(id)
  if (!at)
    throw new ParleyError('not_found', `There is no project ${id}. List the projects to see their ids.`)
  if (at.place === place) return projectRoot(at.project)
  const message =
    'The folder of this project is on another machine, where no server runs. Start a server there.'
  throw new ParleyError('conflict', message, { details: { place: at.place } })
}

/** The suffix of a branch: the agent and, from the second attempt with the same agent on, the number of the attempt. */
function suffixOf(inputs: readonly NewSessionInput[], index: number): string {
  const agent = inputs[index]?.agent ?? ''
  return inputs.findIndex((one) => one.agent === agent) === index ? agent : `${agent}-${index + 1}`
}

/** The session of a round that a list of sessions shows first. */
function firstListed(attempts: readonly FoundAttempt[]): string | undefined {
  const [first] = attempts
    .map(({ state }) => state)
    .toSorted(
      (a, b) => Number(b.pinned) - Number(a.pinned) || b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1),
    )
  return first?.id
}

function filesOf(services: SessionServices, { state, place }: FoundAttempt): AttemptFiles {
  const { id: sessionId, round, cwd, worktree, snapshots } = state
  const isGone = worktree?.phase === 'removed' || worktree?.phase === 'restoring'
  const saved = isGone ? (worktree.saved?.tree ?? worktree.removed?.tree) : undefined
  // If the last tree of a removed worktree is unknown, nothing can be compared: `folder` has other files.
  const isKnown = !isGone || saved !== undefined
  return {
    attempt: round?.attempt ?? 0,
    sessionId,
    folder: {
      path: isGone ? worktree.source + cwd.slice(worktree.path.length) : cwd,
      trusted: isTrusted(services, state, place),
    },
    isHere: place === services.place,
    ...(snapshots && isKnown && { first: snapshots.first }),
    ...(saved !== undefined && { last: { tree: saved } }),
  }
}
