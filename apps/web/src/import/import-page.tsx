import { type AgentConversation, type AgentInfo, ParleyError } from '@parley/protocol'
import { LoaderCircle } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useAgents } from '../base/agents.ts'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { abortable } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { ago, folderName, plural, visible } from '../base/format.logic.ts'
import { matchOf } from '../base/match.logic.ts'
import { navigate } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { BackToSessions } from '../parts/link.tsx'
import { NeedsScope } from '../parts/needs-scope.tsx'
import { toastError } from '../parts/toasts.tsx'

const initialLimit = 50

/** The conversations that agents have stored, to read and continue here. */
export default function ImportPage() {
  if (useMay('prompt')) return <Conversations />
  return <NeedsScope what="Importing a session" scope="prompt" className="p-6" />
}

function Conversations() {
  const { agents, status } = useAgents()
  const { found, asking, problems } = useConversations(agents)
  const [query, setQuery] = useState('')
  const [limit, setLimit] = useState(initialLimit)
  const fitting = found.filter((one) => matchOf(namesOf(one), query) > 0)
  const looking = asking > 0 || status === 'asking' || status === 'unasked'
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <div className="mx-auto w-full max-w-3xl px-5 py-6 max-md:px-3 max-md:py-2">
        <div className="flex items-center">
          <BackToSessions />
          <h1 className="text-title font-semibold tracking-tight">Import a session</h1>
        </div>
        <p className="pt-1 pb-3 text-sm text-soft">
          Conversations that the agents on this machine have stored. Importing one copies it into a session;
          the agent’s own copy does not change.
        </p>
        <input
          aria-label="Search conversations"
          placeholder="Search by title, folder or agent"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          className="field mb-3 w-full pointer-coarse:min-h-11 pointer-coarse:text-base"
        />
        {problems.map((problem) => (
          <p key={problem} className="pb-2 text-sm text-bad">
            {problem}
          </p>
        ))}
        <ul className="flex flex-col gap-1.5">
          {fitting.slice(0, limit).map((one) => (
            <Conversation key={`${one.agent.id} ${one.agentSessionId}`} conversation={one} />
          ))}
        </ul>
        {fitting.length > limit && (
          <Button look="quiet" onClick={() => setLimit(limit + 200)}>
            Show {plural(fitting.length - limit, 'older one')}
          </Button>
        )}
        <p className="flex items-center gap-2 py-2 text-sm text-soft" aria-live="polite">
          {looking ? (
            <>
              <LoaderCircle size={14} aria-hidden className="animate-spin" /> Loading conversations…
            </>
          ) : (
            fitting.length === 0 && noneText(found.length, query)
          )}
        </p>
      </div>
    </div>
  )
}

function namesOf({ title, cwd, agent }: Found): string {
  return [title, cwd, agent.id, agent.name].join(' ')
}

function noneText(all: number, query: string): string {
  if (all > 0) return `No results for “${query}” in ${plural(all, 'conversation')}.`
  return 'No conversations found. Some agents do not list theirs.'
}

function Conversation({ conversation }: { conversation: Found }) {
  const { agent, agentSessionId, title, cwd, updatedAt, sessionId } = conversation
  const now = useNow()
  const [reading, setReading] = useState(false)
  const open = async () => {
    setReading(true)
    try {
      const session = await client.call('importConversation', { body: { agent: agent.id, agentSessionId } })
      navigate({ name: 'session', id: session.id })
    } catch (thrown) {
      toastError(thrown)
      setReading(false)
    }
  }
  return (
    <li>
      <button
        type="button"
        disabled={reading}
        onClick={() => void open()}
        className="flex min-h-12 w-full items-center gap-3 rounded-lg border border-line bg-card px-3 py-1.5 text-left hover:border-edge hover:bg-hover disabled:opacity-70"
      >
        <span className="min-w-0 flex-1">
          <span className="block truncate text-sm font-medium">{visible(title) || 'Untitled'}</span>
          <span className="block truncate text-xs text-soft" title={cwd}>
            {agent.name} · {visible(folderName(cwd))} · {ago(updatedAt, now)}
          </span>
        </span>
        <span className="shrink-0 text-xs text-soft">
          {reading ? 'Importing…' : sessionId === undefined ? '' : 'Already imported'}
        </span>
      </button>
    </li>
  )
}

type Found = AgentConversation & { readonly agent: AgentInfo }
type Listings = {
  readonly found: readonly Found[]
  readonly asking: number
  readonly problems: readonly string[]
}

const noConversations: Listings = { found: [], asking: 0, problems: [] }

/** The conversations of all installed agents that can list them, the latest first. Grows as the agents answer. */
function useConversations(agents: readonly AgentInfo[]): Listings {
  const here = agents.filter((agent) => agent.found && agent.conversations)
  const ids = here.map(({ id }) => id).join(' ')
  const [conversations, setConversations] = useState(noConversations)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids stand for the agents
  useEffect(() => {
    setConversations({ ...noConversations, asking: here.length })
    const add = ({ found, problems }: Listing) =>
      setConversations((before) => ({
        found: [...before.found, ...found].toSorted((one, other) => other.updatedAt - one.updatedAt),
        asking: before.asking - 1,
        problems: [...before.problems, ...problems],
      }))
    return abortable((signal) => {
      for (const agent of here) void listFrom(agent, signal).then((found) => signal.aborted || add(found))
    })
  }, [ids])
  return conversations
}

type Listing = Pick<Listings, 'found' | 'problems'>

async function listFrom(agent: AgentInfo, signal: AbortSignal): Promise<Listing> {
  try {
    const params = { id: agent.id }
    const { conversations } = await client.call('listConversations', { params, query: {}, signal })
    return { found: conversations.map((one) => ({ ...one, agent })), problems: [] }
  } catch (thrown) {
    const isSilent = thrown instanceof ParleyError && thrown.code === 'not_supported'
    return { found: [], problems: isSilent ? [] : [errorText(thrown)] }
  }
}
