import { isRecord, type PlanEntry } from '@parley/protocol'
import type { NativeToolOutput } from './native.ts'
import type { Call, TranslateState, Translation } from './translate-state.ts'

/** The plan after a call of a plan tool; undefined for a call of another tool. */
export function planAfter(
  state: TranslateState,
  call: Call,
  output: NativeToolOutput,
  parent: { parentToolCallId?: string },
): Translation | undefined {
  const line = parent.parentToolCallId ?? ''
  const before = state.plans[line] ?? []
  const entries = entriesAfter(before, call, output)
  if (!entries || JSON.stringify(entries) === JSON.stringify(before)) return undefined
  return {
    state: { ...state, plans: { ...state.plans, [line]: entries } },
    outputs: [{ type: 'plan.updated', entries: [...entries], ...parent }],
  }
}

function entriesAfter(
  before: readonly PlanEntry[],
  { name, input }: Call,
  output: NativeToolOutput,
): readonly PlanEntry[] | undefined {
  switch (name) {
    case 'TodoWrite':
      return output.newTodos?.map(({ content, status }) => ({ text: content, status: statusOf(status) }))
    case 'TaskList':
      return output.tasks?.map(({ id, subject, status }) => ({ id, text: subject, status: statusOf(status) }))
    case 'TaskCreate':
    case 'TaskGet': {
      const { task } = output
      if (!task) return undefined
      const entry = { id: task.id, text: task.subject, status: statusOf(task.status ?? 'pending') }
      return placed(before, entry)
    }
    case 'TaskUpdate':
      return output.success && output.taskId ? changed(before, output.taskId, input, output) : undefined
    default:
      return undefined
  }
}

function changed(
  before: readonly PlanEntry[],
  id: string,
  input: unknown,
  output: NativeToolOutput,
): readonly PlanEntry[] {
  const given = isRecord(input) ? input : {}
  const status = output.statusChange?.to ?? given.status
  if (status === 'deleted') return before.filter((entry) => entry.id !== id)
  const known = before.find((entry) => entry.id === id)
  const subject = typeof given.subject === 'string' ? given.subject : undefined
  return placed(before, {
    id,
    text: subject ?? known?.text ?? `Task ${id}`,
    status: typeof status === 'string' ? statusOf(status) : (known?.status ?? 'pending'),
  })
}

function placed(before: readonly PlanEntry[], entry: PlanEntry): readonly PlanEntry[] {
  const known = before.some(({ id }) => id === entry.id)
  return known ? before.map((one) => (one.id === entry.id ? entry : one)) : [...before, entry]
}

function statusOf(status: string): PlanEntry['status'] {
  if (status === 'in_progress') return 'in-progress'
  return status === 'completed' ? 'completed' : 'pending'
}
