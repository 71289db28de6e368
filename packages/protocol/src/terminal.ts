import { z } from 'zod'
import { SessionId } from './ids.ts'
import { taggedUnion } from './tagged-union.ts'

const size = { cols: z.int().min(2).max(1000), rows: z.int().min(1).max(1000) }

/**
 * A real shell, or an agent's own program, in a session's folder. It runs in the server and outlives the
 * page.
 */
export const Terminal = z.object({
  terminalId: z.string(),
  sessionId: SessionId,
  title: z.string(),
  startedAt: z.number(),
  exitCode: z.int().optional().meta({ description: 'Set when the program has ended' }),
  running: z
    .string()
    .optional()
    .meta({ description: 'The program in the foreground; absent while the shell waits for input' }),
  ...size,
})
export type Terminal = z.infer<typeof Terminal>

export const NewTerminal = z.strictObject({
  ...size,
  run: z
    .enum(['shell', 'agent'])
    .default('shell')
    .meta({ description: "agent: the agent's own CLI, in the same conversation" }),
})
export type NewTerminal = z.infer<typeof NewTerminal>

/** Frames from a page to a terminal. Each terminal has its own WebSocket. */
export const TerminalClientFrame = taggedUnion('type', [
  z.object({ type: z.literal('input'), data: z.string() }),
  z.object({ type: z.literal('resize'), ...size }),
])
export type TerminalClientFrame = z.infer<typeof TerminalClientFrame>

/** Frames from a terminal to a page: first the current screen, then the output. */
export const TerminalServerFrame = taggedUnion('type', [
  z.object({ type: z.literal('screen'), data: z.string(), ...size }),
  z.object({ type: z.literal('output'), data: z.string() }),
  z.object({ type: z.literal('resized'), ...size }),
  z.object({ type: z.literal('exited'), exitCode: z.int() }),
])
export type TerminalServerFrame = z.infer<typeof TerminalServerFrame>

/**
 * The codes with which the server closes the WebSocket of a terminal. If the access was revoked or has changed, the
 * code is `signedOutCode`.
 */
export const terminalClosed = {
  badFrame: 4000,
  notFound: 4004,
  /** The client read too slowly. It may connect again at once, and gets the current screen. */
  tooSlow: 4008,
} as const
