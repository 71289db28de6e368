import { z } from 'zod'
import { changeCommands } from './change-command.ts'
import { CommandId, MessageId, PromptId, RequestId, SessionId, TurnId } from './ids.ts'
import { McpServers } from './mcp-server.ts'
import { PermissionScope } from './permission.ts'
import { Delivery, PromptParts } from './prompt.ts'
import { Answers } from './question.ts'
import { RewindFiles } from './rewind.ts'
import { SessionOptions, SessionSettings } from './session.ts'
import { CommandSignature } from './signed-answer.ts'
import { taggedUnion } from './tagged-union.ts'
import { BranchFate, ForkWorktree } from './worktree.ts'

const base = { commandId: CommandId }

export const PromptSubmit = z
  .strictObject({
    ...base,
    type: z.literal('prompt.submit'),
    text: z.string().regex(/\S/, 'the prompt is empty').optional(),
    parts: PromptParts.optional(),
    delivery: Delivery.default('queue'),
    before: z.array(PromptId).max(1000).optional().meta({
      description:
        'Places the prompt before the first of these prompts that is still queued, or last if none is',
    }),
    messageId: MessageId.optional().meta({
      description: "The client's id for the prompt; stored in the log",
    }),
    paused: z.literal(true).optional().meta({
      description: 'Queues the prompt as paused, for example after an edit of a paused prompt',
    }),
  })
  .refine((command) => (command.text !== undefined) !== (command.parts !== undefined), {
    message: 'give either text or parts',
  })

export const Command = taggedUnion('type', [
  PromptSubmit,
  z.strictObject({ ...base, type: z.literal('prompt.withdraw'), promptId: PromptId }),
  z.strictObject({
    ...base,
    type: z.literal('prompt.move'),
    promptId: PromptId,
    before: PromptId.optional().meta({
      description: 'Places the prompt before this queued prompt; if absent, last',
    }),
  }),
  z.strictObject({
    ...base,
    type: z.literal('turn.cancel'),
    turnId: TurnId.optional(),
    pauseQueue: z.boolean().optional().meta({
      description:
        'false: the next queued prompt starts when the turn has ended. Otherwise the queue is paused',
    }),
  }),
  z.strictObject({ ...base, type: z.literal('queue.resume') }),
  z.strictObject({
    ...base,
    type: z.literal('task.stop'),
    taskId: z.string().optional().meta({ description: 'Absent: all background tasks' }),
  }),
  z.strictObject({
    ...base,
    type: z.literal('permission.decide'),
    requestId: RequestId,
    decision: z.enum(['allow', 'deny']),
    scope: PermissionScope.default('once'),
    message: z.string().optional(),
    input: z.unknown().optional(),
    endTurn: z.boolean().optional(),
    inputHash: z.string().optional().meta({
      description:
        'The hash of the request that was shown. If the request has another hash, the command fails with the error conflict',
    }),
    signature: CommandSignature.optional().meta({
      description: 'The signature of the browser over decisionText',
    }),
  }),
  z.strictObject({
    ...base,
    type: z.literal('question.answer'),
    requestId: RequestId,
    answers: Answers,
    signature: CommandSignature.optional().meta({
      description: 'The signature of the browser over answerText',
    }),
  }),
  z.strictObject({
    ...base,
    type: z.literal('session.configure'),
    ...SessionSettings.shape,
    mcpServers: McpServers.optional().meta({ description: 'The complete list; replaces the previous one' }),
    options: SessionOptions.strict().optional(),
  }),
  z.strictObject({
    ...base,
    type: z.literal('session.fork'),
    before: PromptId.optional().meta({
      description:
        'The new session contains what happened before the turn of this prompt. Absent: everything',
    }),
    title: z.string().optional(),
    worktree: ForkWorktree.optional().meta({
      description:
        'The new session works in a new worktree, with the files as they were before that prompt, or as they are now. Absent: in the same folder',
    }),
  }),
  /** Records that another session continues the work. The host sends this command when it creates that session. */
  z.strictObject({ ...base, type: z.literal('session.hand-over'), into: SessionId }),
  z.strictObject({ ...base, type: z.literal('session.close') }),
  z.strictObject({ ...base, type: z.literal('session.release') }),
  z.strictObject({ ...base, type: z.literal('session.compact') }),
  z.strictObject({
    ...base,
    type: z.literal('session.rewind'),
    promptId: PromptId,
    files: z.boolean().optional().meta({
      description: 'Restores files to their state before the prompt. Absent: true',
    }),
    talk: z.boolean().optional().meta({
      description: 'Takes the turns since the prompt back: the agent continues without them. Absent: false',
    }),
    ...RewindFiles,
  }),
  /** Undoes the last rewind, until the next turn. */
  z.strictObject({ ...base, type: z.literal('session.unrewind') }),
  ...changeCommands,
  /** Makes the worktree again after a failure. */
  z.strictObject({
    ...base,
    type: z.literal('worktree.retry'),
    setup: z.literal(false).optional().meta({ description: 'Does not run the setup command' }),
  }),
  /** Saves the worktree in a snapshot, then deletes its folder. */
  z.strictObject({
    ...base,
    type: z.literal('worktree.remove'),
    branch: BranchFate.default('keep'),
    ifNothingLost: z.literal(true).optional().meta({
      description: 'Refuses to delete files or commits that exist nowhere else',
    }),
  }),
  z.strictObject({ ...base, type: z.literal('worktree.restore') }),
  /** Checks out the submodules of the worktree whose folders are empty. */
  z.strictObject({ ...base, type: z.literal('worktree.fill') }),
  /** Runs the command of the project that tests the work. */
  z.strictObject({ ...base, type: z.literal('check.run') }),
  z.strictObject({ ...base, type: z.literal('check.stop') }),
  /** Chooses this attempt of a round. The worktrees of the others are removed, and can be restored. */
  z.strictObject({ ...base, type: z.literal('attempt.pick') }),
  /** Notifies an attempt that another attempt was picked. The host sends this command after a pick. */
  z.strictObject({
    ...base,
    type: z.literal('attempt.pass-over'),
    number: z.int().min(1),
    by: SessionId.meta({ description: 'The picked session' }),
  }),
])
/** A client's request to change a session, checked and with its defaults filled in. */
export type Command = z.infer<typeof Command>
/** A command as a client writes it, before the defaults are filled in. */
export type CommandInput = z.input<typeof Command>
export type CommandType = Command['type']
export type CommandOf<Type extends CommandType> = Extract<Command, { type: Type }>

/**
 * The reply to a command, sent when the command is in the log. `seq` is that of the last event that the command caused,
 * or of the last event of the log if the command caused none.
 */
export const Receipt = z.object({
  commandId: CommandId,
  seq: z.int().min(0),
  promptId: PromptId.optional().meta({
    description: 'For prompt.submit and session.compact',
  }),
  sessionId: SessionId.optional().meta({ description: 'For session.fork: the new session' }),
})
export type Receipt = z.infer<typeof Receipt>
