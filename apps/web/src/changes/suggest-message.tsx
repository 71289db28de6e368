import type { FileChange, SuggestedMessage } from '@parley/protocol'
import { useEffect, useRef, useState } from 'react'
import { client } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'
import { visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { Button } from '../parts/button.tsx'
import { useSessionId } from '../session-data/session-context.tsx'

/** The time limit for the server to suggest a message. It exceeds the server's own limit. */
const suggestionMs = 5 * 60_000

type Props = {
  files: readonly FileChange[]
  message: string
  onMessage: (message: string) => void
}

/** Asks the agent for a message. A message that was edited meanwhile is replaced only on a click. */
export function SuggestMessage({ files, message, onMessage }: Props) {
  const id = useSessionId()
  const may = [useMay('prompt'), useMay('decide')].every(Boolean)
  const [asking, setAsking] = useState<AbortController>()
  const [note, setNote] = useState('')
  const [kept, setKept] = useState<string>()
  const now = useRef(message)
  now.current = message
  useEffect(() => () => asking?.abort(), [asking])
  if (!may) return null
  const take = (suggested: string) => {
    setKept(undefined)
    onMessage(suggested)
  }
  const ask = async () => {
    const asked = new AbortController()
    const before = message
    setAsking(asked)
    setNote('')
    setKept(undefined)
    try {
      const paths = files.map(({ path }) => path)
      const suggested = await client.call('suggestMessage', {
        ...{ params: { id }, body: { paths } },
        ...{ signal: asked.signal, timeoutMs: suggestionMs },
      })
      setNote(noteOn(suggested))
      if (suggested.by === 'agent' && now.current === before) take(suggested.message)
      else if (suggested.by === 'agent') setKept(suggested.message)
    } catch (thrown) {
      setNote(asked.signal.aborted ? '' : errorText(thrown))
    }
    setAsking(undefined)
  }
  return (
    <span className="flex flex-wrap items-center gap-1.5 text-xs text-soft">
      {asking ? (
        <Button look="quiet" onClick={() => asking.abort()}>
          Stop the suggestion
        </Button>
      ) : (
        <Button look="quiet" onClick={() => void ask()}>
          Suggest a message
        </Button>
      )}
      {kept !== undefined && <Button onClick={() => take(kept)}>Use the suggested message</Button>}
      <span role="status">{asking ? 'The agent writes a message…' : note}</span>
    </span>
  )
}

function noteOn({ by, why }: SuggestedMessage): string {
  if (by === 'agent') return 'The agent wrote this message. Read it before you commit.'
  return `${visible(why ?? '')} The message was made from the title of the session.`.trim()
}
