import { type Command, type CommandOf, ParleyError } from '@parley/protocol'
import type { DecideContext } from './decision.ts'
import { isFolderCommand } from './folder-changes.ts'
import type { SessionContext } from './session-services.ts'

/** The facts that must be known before a command can be decided. */
type Facts = Pick<DecideContext, 'continuedBy' | 'doneInFolder' | 'check' | 'highestPick'>

/** `signal` cancels work in the folder. The code is loaded on first use, because most commands need no facts. */
export async function factsFor(
  command: Command,
  context: SessionContext,
  signal: AbortSignal,
): Promise<Facts> {
  const { services, log } = context
  if (isFolderCommand(command)) {
    const { workInFolder } = await import('./folder-work.ts')
    return { doneInFolder: await workInFolder(context, command, signal) }
  }
  switch (command.type) {
    case 'session.hand-over': {
      const { agentContinuing } = await import('./hand-off.ts')
      return { continuedBy: await agentContinuing(services.store, log.sessionId, command) }
    }
    case 'check.run': {
      const { checkCommandOf } = await import('./session-checks.ts')
      return { check: await checkCommandOf(services, log.state) }
    }
    case 'attempt.pick':
      return { highestPick: await highestPick(context) }
    case 'attempt.pass-over':
      await expectPicked(context, command)
      return {}
    default:
      return {}
  }
}

/** The highest pick number in the other attempts. */
async function highestPick({ services, log }: SessionContext): Promise<number> {
  const { round } = log.state
  if (!round) return 0
  const { otherAttempts, stateIfThere } = await import('./round-attempts.ts')
  const others = await Promise.all(otherAttempts(round).map((id) => stateIfThere(services.store, id)))
  return Math.max(0, ...others.map((other) => other?.round?.pick?.number ?? 0))
}

/** Refuses a command that names a pick which was not made. Anybody who may send commands could send it. */
async function expectPicked(
  { services, log }: SessionContext,
  { by, number }: CommandOf<'attempt.pass-over'>,
): Promise<void> {
  const { round } = log.state
  const { otherAttempts, stateIfThere } = await import('./round-attempts.ts')
  const isOther = round !== undefined && otherAttempts(round).includes(by)
  const picked = isOther ? (await stateIfThere(services.store, by))?.round?.pick : undefined
  if (picked?.state === 'picked' && picked.number === number) return
  throw new ParleyError(
    'conflict',
    'The session of this command was not picked with this number. To pick an attempt, send attempt.pick.',
  )
}
