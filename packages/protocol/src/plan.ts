import { z } from 'zod'

export const PlanStatus = z.enum(['pending', 'in-progress', 'completed', 'cancelled'])
export const PlanEntry = z.object({
  id: z.string().optional(),
  text: z.string(),
  status: PlanStatus,
  priority: z.enum(['high', 'medium', 'low']).optional(),
})
export type PlanEntry = z.infer<typeof PlanEntry>

/** Work beside the main line: a subagent, or a command in the background. */
export const Task = z.object({
  taskId: z.string(),
  toolCallId: z.string().optional(),
  parentToolCallId: z.string().optional(),
  title: z.string(),
  status: z.enum(['running', 'completed', 'failed', 'stopped']),
  background: z.boolean().optional(),
  summary: z.string().optional(),
})
export type Task = z.infer<typeof Task>
