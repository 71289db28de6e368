import {
  type PullRequest,
  type PullRequestInfo,
  quotedChecks,
  quotedComments,
  quotedLogs,
  suggestedMessage,
} from '@parley/protocol'
import { useCallback, useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { usePageVisible } from '../base/effects.ts'
import { focusPrompt } from '../base/focus.ts'
import { plural, visible } from '../base/format.logic.ts'
import { useMay } from '../base/self.ts'
import { useSubmission } from '../base/submission.ts'
import { Button } from '../parts/button.tsx'
import { toast, toastError } from '../parts/toasts.tsx'
import { draftOf } from '../session-data/prompts.ts'
import { useSessionId, useSessionState } from '../session-data/session-context.tsx'
import { requestText } from './branch-text.logic.ts'

const pollMs = 30_000

/** The pull request of the branch. It is loaded at intervals while the page is visible. */
export function PullRequestPart() {
  const id = useSessionId()
  const [info, setInfo] = useState<PullRequestInfo>()
  const visiblePage = usePageVisible()
  const [prompts, decides] = [useMay('prompt'), useMay('decide')]
  const read = useCallback(
    (signal?: AbortSignal) =>
      client.call('getPullRequest', { params: { id }, ...(signal && { signal }) }).then(setInfo, () => {}),
    [id],
  )
  useEffect(() => {
    if (!visiblePage || !prompts) return undefined
    const controller = new AbortController()
    const readAgain = () => void read(controller.signal)
    readAgain()
    const timer = setInterval(readAgain, pollMs)
    return () => {
      clearInterval(timer)
      controller.abort()
    }
  }, [visiblePage, prompts, read])
  if (!info) return null
  const { request, problem, message, link } = info
  if (request) return <Request request={request} />
  return (
    <div className="flex flex-col gap-1.5">
      {problem !== undefined && <p>{visible(message ?? 'The pull request could not be read.')}</p>}
      {decides && problem === undefined && info.program !== undefined && (
        <OpenForm onOpened={() => void read()} />
      )}
      {link !== undefined && (problem !== undefined || info.program === undefined) && (
        <Outside href={link}>Open a pull request on the web</Outside>
      )}
    </div>
  )
}

function Outside({ href, children }: { href: string; children: string }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" className="text-mark underline">
      {children}
    </a>
  )
}

/** Comments and checks that others wrote become a draft. Only the person can send it. */
function Request({ request }: { request: PullRequest }) {
  const sessionId = useSessionId()
  const { number, title, url, comments, checks } = request
  const failed = checks.filter(({ result }) => result === 'failed')
  const draft = (text: string) => {
    draftOf(sessionId).text.set((before) => [before, text].filter((one) => one.trim() !== '').join('\n\n'))
    focusPrompt()
  }
  return (
    <div className="flex flex-wrap items-center gap-2">
      <p className="min-w-40 flex-1">
        <Outside href={url}>{`#${number} ${visible(title)}`}</Outside> {requestText(request)}
      </p>
      {failed.length > 0 && (
        <Button onClick={() => draft(quotedChecks(failed))}>
          Quote {plural(failed.length, 'failed check')} in the prompt
        </Button>
      )}
      {failed.length > 0 && <QuoteLogs key={number} onDraft={draft} />}
      {comments.length > 0 && (
        <Button onClick={() => draft(quotedComments(comments))}>
          Quote {plural(comments.length, 'comment')} in the prompt
        </Button>
      )}
    </div>
  )
}

const logsMs = 6 * 60_000

/** Fetches the logs on a click, because this can take a while. */
function QuoteLogs({ onDraft }: { onDraft: (text: string) => void }) {
  const id = useSessionId()
  const [busy, setBusy] = useState(false)
  const quote = async () => {
    setBusy(true)
    try {
      const { logs } = await client.call('getCheckLogs', { params: { id }, timeoutMs: logsMs })
      if (logs.length > 0) onDraft(quotedLogs(logs))
      else toast('No check has failed.')
    } catch (thrown) {
      toastError(thrown)
    }
    setBusy(false)
  }
  return (
    <Button disabled={busy} onClick={() => void quote()}>
      {busy ? 'Fetching the logs…' : 'Quote the logs of failed checks in the prompt'}
    </Button>
  )
}

function OpenForm({ onOpened }: { onOpened: () => void }) {
  const sessionId = useSessionId()
  const sessionTitle = useSessionState((state) => state.title)
  const [open, setOpen] = useState(false)
  const [title, setTitle] = useState(() => suggestedMessage(sessionTitle, []).split('\n')[0] ?? '')
  const [body, setBody] = useState('')
  const [isDraft, setDraft] = useState(false)
  const { problem, isBusy, submit } = useSubmission()
  if (!open)
    return (
      <span>
        <Button onClick={() => setOpen(true)}>Open a pull request…</Button>
      </span>
    )
  const send = async () => {
    await client.command(sessionId, {
      type: 'pull-request.open',
      title,
      ...(body.trim() !== '' && { body }),
      ...(isDraft && { draft: true }),
    })
    toast('Opened the pull request')
    onOpened()
  }
  return (
    <form
      aria-label="Open a pull request"
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        void submit(send)
      }}
    >
      <input
        aria-label="Title"
        value={title}
        onChange={(event) => setTitle(event.target.value)}
        className="field w-full"
      />
      <textarea
        aria-label="Description"
        placeholder="Description"
        value={body}
        onChange={(event) => setBody(event.target.value)}
        className="field field-sizing-content max-h-60 min-h-14 w-full"
      />
      <label className="flex min-h-8 items-center gap-1.5 pointer-coarse:min-h-11">
        <input
          type="checkbox"
          checked={isDraft}
          onChange={(event) => setDraft(event.target.checked)}
          className="accent-mark-fill"
        />
        As a draft
      </label>
      {problem !== undefined && (
        <p role="alert" className="text-bad">
          {problem}
        </p>
      )}
      <span className="flex gap-1.5">
        <Button type="submit" look="primary" disabled={isBusy || title.trim() === ''}>
          Open
        </Button>
        <Button look="quiet" onClick={() => setOpen(false)}>
          Cancel
        </Button>
      </span>
    </form>
  )
}
