import type { Options } from '@anthropic-ai/claude-agent-sdk'
import type { Resumption } from '@parley/adapter-kit'
import { ParleyError } from '@parley/protocol'
import { cutBefore, readTranscript } from './transcript.ts'

/** The conversation with which a process begins. */
export type Resumed = {
  /** The transcript of the conversation; undefined if the process begins a new one, or if there is no transcript. */
  readonly transcript: string | undefined
  /** The options of the SDK that resume the conversation. */
  readonly options: Options
}

/** Reads the conversation to resume. Throws a ParleyError if a fork must end before a prompt that is not in it. */
export function readResumed(env: Readonly<Record<string, string>>, resume: Resumption | undefined): Resumed {
  if (!resume) return { transcript: undefined, options: {} }
  const { transcript, options } = readConversation(env, resume)
  return { transcript, options: { ...options, ...(resume.temporary && { persistSession: false }) } }
}

function readConversation(env: Readonly<Record<string, string>>, resume: Resumption): Resumed {
  const { agentSessionId, fork, before, turns } = resume
  const transcript = readTranscript(env, agentSessionId)
  // If the process was killed before it wrote a line, nothing can be resumed: a new conversation is started, under the
  // same id if it is not a fork.
  if (turns === 0 && transcript === undefined)
    return { transcript, options: fork ? {} : { sessionId: agentSessionId } }
  if (!before) return { transcript, options: { resume: agentSessionId, ...(fork && { forkSession: true }) } }
  const cut = cutBefore(transcript ?? '', before)
  if (!cut) throw notContained(agentSessionId)
  if (cut.isCompacted) throw compactedSince(agentSessionId)
  if (cut.last === undefined) return { transcript: undefined, options: {} }
  const options = { resume: agentSessionId, forkSession: true, resumeSessionAt: cut.last }
  return { transcript: cut.text, options }
}

function compactedSince(agentSessionId: string): ParleyError {
  const message =
    'Claude Code compacted the conversation after the prompt before which this session was forked, and cannot go back to before a compaction. Fork the original session before a later prompt.'
  return new ParleyError('agent_failed', message, { details: { agentSessionId } })
}

function notContained(agentSessionId: string): ParleyError {
  const message =
    'The transcript of Claude Code does not contain the prompt before which this session was forked, so the conversation cannot be forked there. Fork the original session before another prompt.'
  return new ParleyError('agent_failed', message, { details: { agentSessionId } })
}
