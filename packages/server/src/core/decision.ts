import type { AgentAdapter } from '@parley/adapter-kit'
import {
  type Actor,
  type CapabilityName,
  type EventDraft,
  ParleyError,
  type PermissionRule,
  type Receipt,
  type SessionSettings,
} from '@parley/protocol'
import type { Ids } from './clock.ts'
import type { LogPoint } from './point-before.ts'
import type { PlannedRestore } from './rewind-files.ts'

export type DecideContext = {
  readonly now: number
  readonly ids: Ids
  readonly agent: Pick<AgentAdapter, 'name' | 'capabilities' | 'modes' | 'options' | 'fixedOptions'>
  readonly maxQueue: number
  /** Set if work must run before the next turn, so that a new prompt must wait in the queue. */
  readonly mustWait?: boolean
  readonly rules: readonly PermissionRule[]
  /**
   * The point before the prompt that the command names. Undefined while the command is checked, before the point is
   * looked up.
   */
  readonly point?: LogPoint | undefined
  /** For session.rewind: the restoration of files. Undefined while the command is checked. */
  readonly planned?: PlannedRestore | undefined
  /** The place of the session's folder, if several processes share the store. */
  readonly place?: string | undefined
  /** For session.hand-over: the agent of the session that continues the work. */
  readonly continuedBy?: string
  /** For a command that works in the folder: the drafts of its work. */
  readonly doneInFolder?: readonly EventDraft[]
  /** For check.run: the command of the project. */
  readonly check?: string
  /** For attempt.pick: the highest pick number in the other attempts. */
  readonly highestPick?: number
  /** The sender of the command. */
  readonly actor?: Actor
}

export type Decision = {
  readonly drafts: readonly EventDraft[]
  readonly reply?: Pick<Receipt, 'promptId' | 'sessionId'>
  readonly rules?: readonly PermissionRule[]
}

export function refuseIf(
  refused: boolean,
  code: 'conflict' | 'busy' | 'validation_error',
  message: string,
): void {
  if (refused) throw new ParleyError(code, message)
}

/** Refuses settings that the agent does not support, before anything is recorded. */
export function checkSettings(settings: SessionSettings, context: Pick<DecideContext, 'agent'>): void {
  if (settings.model !== undefined) need(context, 'models')
  const honoured: readonly string[] = ['tools', ...(context.agent.options ?? [])]
  const refused = Object.keys(settings.options ?? {}).find((option) => !honoured.includes(option))
  if (refused !== undefined) {
    throw new ParleyError(
      'not_supported',
      `${context.agent.name} does not support the option "${refused}".`,
      {
        details: { option: refused, options: honoured },
      },
    )
  }
  const { mode } = settings
  if (mode !== undefined && !context.agent.modes.includes(mode)) {
    throw new ParleyError('not_supported', `${context.agent.name} has no mode "${mode}".`, {
      details: { modes: context.agent.modes },
    })
  }
}

/** The end of the error message for a command that needs a missing capability. */
const inabilities = {
  compaction: 'cannot compact its conversation',
  environment: 'does not support environment variables for a session',
  editInput: 'cannot run a call with an edited input. Allow the call unchanged, or deny it with a reason',
  files: 'does not accept files',
  background: 'does not support background tasks',
  fork: 'cannot fork a session. Create a new one',
  forkBefore:
    'cannot fork its conversation before an earlier prompt. Fork the whole session, or create a new one',
  forkElsewhere:
    'keeps the copy of a conversation in the folder of the original. Fork the session without a worktree',
  hostTools: 'does not support host tools',
  images: 'does not accept images',
  mcp: 'does not support MCP servers for a session',
  models: 'does not support choosing a model. Omit the model',
  resume: 'cannot resume a conversation in another process',
  steer: 'cannot be steered while a turn runs. Queue the prompt instead',
} as const satisfies Partial<Record<CapabilityName, string>>

export function need({ agent }: Pick<DecideContext, 'agent'>, capability: keyof typeof inabilities): void {
  if (agent.capabilities[capability]) return
  throw new ParleyError('not_supported', `${agent.name} ${inabilities[capability]}.`, {
    details: { capability },
  })
}
