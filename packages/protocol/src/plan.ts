import { z } from 'zod'
import { ParkReason } from './turn.ts'

export const PlanStatus = z.enum(['pending', 'in-progress', 'completed', 'cancelled'])
export const PlanEntry = z.object({
  id: z.string().optional(),
  text: z.string(),
  status: PlanStatus,
  priority: z.enum(['high', 'medium', 'low']).optional(),
})
export type PlanEntry = z.infer<typeof PlanEntry>

/**
 * Work beside the main conversation: a subagent, or a command. A background task continues when the turn that
 * started it has ended.
 */
export const Task = z.object({
  taskId: z.string(),
  toolCallId: z.string().optional(),
  parentToolCallId: z.string().optional(),
  title: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'stopped']),
  background: z.boolean().optional(),
  summary: z.string().optional(),
  reason: z
    .enum([
      'limit',
      'closed',
      'agent-lost',
      'server-stopped',
      'server-killed',
      'restarted',
      'denied',
      'turn-end',
    ])
    .optional()
    .meta({
      description: 'The reason why the host recorded the end of the task; absent if the agent reported it',
    }),
  parked: ParkReason.optional().meta({
    description: 'The task waits for a person and has no process; the answer restarts the task',
  }),
})
export type Task = z.infer<typeof Task>
