import { hasCode, type LinkDecision, type LinkedRequest, messageOf, visible } from '@parley/protocol'
import { type ReactNode, useEffect, useState } from 'react'
import { useNow } from '../base/clock.ts'
import { http } from '../base/device.ts'
import { useWindowEvent } from '../base/effects.ts'
import { errorText } from '../base/error-text.logic.ts'
import { KindIcon } from '../call/kind-icon.tsx'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/problem.tsx'
import { ScrollRegion } from '../parts/scroll-region.tsx'
import { reachWarnings, requestTitle } from './choices.logic.ts'
import { timeLeft } from './link-page.logic.ts'
import { RequestedAction } from './requested-action.tsx'

/**
 * Returns the code of the link, and moves it from the address into the state of this entry of the history. A
 * reload reads it from that state; neither the address bar nor the list of visited pages shows it.
 */
function takeCode(): string {
  const kept = history.state as { code?: string } | null
  const code = location.hash.slice(1) || String(kept?.code ?? '')
  history.replaceState({ code }, '', 'decide')
  return code
}

/** The target of a link that decides one request. It needs no sign-in, and shows nothing else of the server. */
export default function LinkPage() {
  const [code] = useState(takeCode)
  useWindowEvent('hashchange', () => location.reload())
  const [linked, setLinked] = useState<LinkedRequest>()
  const [problem, setProblem] = useState<unknown>()
  const [decided, setDecided] = useState<LinkDecision>()
  const [sending, setSending] = useState(false)
  const load = () => {
    setProblem(undefined)
    http.call('showLinkedRequest', { body: { code } }).then(setLinked, setProblem)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the code of a page does not change
  useEffect(load, [])
  const decide = (decision: LinkDecision, { inputHash }: LinkedRequest['request']) => {
    setSending(true)
    setProblem(undefined)
    http
      .call('decideByLink', { body: { code, decision, inputHash } })
      .then(() => setDecided(decision), setProblem)
      .finally(() => setSending(false))
  }
  if (decided) return <Decided decision={decided} />
  const isOver = hasCode(problem, 'conflict', 'unauthorized', 'not_supported', 'validation_error')
  if (problem !== undefined && (isOver || !linked))
    return (
      <Problem title="This link cannot decide" text={isOver ? overText(problem) : errorText(problem)}>
        {!isOver && (
          <div className="pt-3">
            <Button onClick={load}>Try again</Button>
          </div>
        )}
      </Problem>
    )
  if (!linked) return <Problem title="Loading the request" text="One moment." />
  return (
    <Page linked={linked}>
      <p role="alert" className="text-sm text-bad empty:hidden">
        {problem !== undefined && errorText(problem)}
      </p>
      <Decisions
        linked={linked}
        disabled={sending}
        onDecide={(decision) => decide(decision, linked.request)}
      />
    </Page>
  )
}

function overText(problem: unknown): string {
  return hasCode(problem, 'validation_error')
    ? 'The link is not complete. Copy all of it.'
    : messageOf(problem)
}

function Decided({ decision }: { decision: LinkDecision }) {
  return (
    <Problem
      title={decision === 'allow' ? 'Allowed once' : 'Denied'}
      text="Your decision is recorded. The link is used up; you can close this page."
    />
  )
}

function Page({ linked, children }: { linked: LinkedRequest; children: ReactNode }) {
  const { session, request, createdBy, name, expiresAt } = linked
  const now = useNow()
  const title = requestTitle(request, visible(session.agent))
  return (
    <main className="h-dvh overflow-y-auto">
      <div className="mx-auto flex min-h-full max-w-2xl flex-col justify-center gap-3 p-4 py-8">
        <header className="flex flex-col gap-1">
          <p className="text-xs text-soft [overflow-wrap:anywhere]">
            {visible(session.title) || 'Untitled session'}
          </p>
          <h1 className="flex items-center gap-2 text-title font-semibold">
            <span className="text-wait">
              <KindIcon kind={request.kind} size={18} />
            </span>
            {title}
          </h1>
        </header>
        <section
          aria-label="The request"
          className="flex flex-col gap-2 rounded-xl border border-wait-line bg-card p-3.5 shadow-md"
        >
          <RequestedAction request={request} folder={session.cwd} />
          {reachWarnings(request).map((warning) => (
            <p key={warning} className="text-sm text-wait">
              {warning}
            </p>
          ))}
          {request.reason && <p className="text-sm text-soft">{visible(request.reason)}</p>}
          <WholeInput tool={request.tool} input={request.input} />
        </section>
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 text-xs">
          <Fact name="Folder">{visible(session.cwd)}</Fact>
          <Fact name="Agent">{visible(session.agent)}</Fact>
          <Fact name="Link">
            {visible(name)}, created by {visible(createdBy)}; {timeLeft(expiresAt, now)}
          </Fact>
        </dl>
        {children}
      </div>
    </main>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-faint">{name}</dt>
      <dd className="text-soft [overflow-wrap:anywhere]">{children}</dd>
    </>
  )
}

/** The card above cuts long fields. A person who decides with a link can see them only here. */
function WholeInput({ tool, input }: { tool: string; input: unknown }) {
  return (
    <details className="text-xs">
      <summary className="cursor-pointer py-1 text-soft pointer-coarse:min-h-11 pointer-coarse:content-center">
        Whole input of {visible(tool)}
      </summary>
      <ScrollRegion label="Whole input" className="mt-1 max-h-80 overflow-auto rounded-md bg-sunk">
        <pre className="terminal px-2.5 py-2 whitespace-pre-wrap [overflow-wrap:anywhere]">
          {visible(JSON.stringify(input, undefined, 2) ?? '')}
        </pre>
      </ScrollRegion>
    </details>
  )
}

type DecisionsProps = {
  linked: LinkedRequest
  disabled: boolean
  onDecide: (decision: LinkDecision) => void
}

/** Allow is on the left and deny on the right, far apart, as on the cards of the console. */
function Decisions({ linked: { decisions, request }, disabled, onDecide }: DecisionsProps) {
  const isPlan = request.kind === 'plan'
  return (
    <div className="flex flex-wrap items-center gap-2">
      {decisions.includes('allow') && (
        <Button look="good" disabled={disabled} onClick={() => onDecide('allow')}>
          {isPlan ? 'Approve the plan' : 'Allow once'}
        </Button>
      )}
      {decisions.includes('deny') && (
        <Button
          look="danger"
          className={decisions.includes('allow') ? 'ml-auto' : ''}
          disabled={disabled}
          onClick={() => onDecide('deny')}
        >
          {isPlan ? 'Reject the plan' : 'Deny'}
        </Button>
      )}
      {!decisions.includes('allow') && (
        <p className="text-xs text-soft">
          This link can only deny. To allow the call, answer in the console.
        </p>
      )}
    </div>
  )
}
