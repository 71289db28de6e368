import { invitePrefix } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { errorText, isUnreachable } from '../base/error-text.logic.ts'
import { Button } from '../parts/button.tsx'
import { Problem } from '../parts/problem.tsx'
import { InvitationPage } from './invitation-page.tsx'
import { finishAtProvider, startAtProvider } from './provider-sign-in.ts'
import { isKnownHere, signIn, signInWithCode } from './sign-in.ts'

const code = location.hash.slice(1)
const query = location.search.slice(1)
/** The answer of the OpenID provider, which redirects to this page. */
const answer = new URLSearchParams(query).has('state') ? query : undefined
/** True for a one-time link with `?account`, which connects an account of the provider with an existing person. */
const wantsAccount = new URLSearchParams(query).has('account')
// Remove the one-time code from the address and the history.
history.replaceState(null, '', 'open')
addEventListener('hashchange', () => location.reload())

/** The target of a link: a one-time link signs this browser in, an invitation asks for the person's name first. */
export default function SignInPage() {
  return code.startsWith(invitePrefix) ? <InvitationPage code={code} /> : <SigningIn />
}

/** Signs this browser in and opens the session list. */
function SigningIn() {
  const [problem, setProblem] = useState<unknown>()
  const attempt = () => {
    setProblem(undefined)
    void enter().catch(setProblem)
  }
  useEffect(attempt, [])
  if (problem === undefined) return <Problem title="Signing in" text="One moment." />
  return (
    <Problem title="This browser could not be signed in" text={errorText(problem)}>
      {isUnreachable(problem) && (
        <div className="pt-3">
          <Button onClick={attempt}>Try again</Button>
        </div>
      )}
    </Problem>
  )
}

let entering: Promise<void> | undefined

/**
 * Signs this browser in. Repeated calls share one attempt. If the browser is signed in already, the code is not used
 * and remains valid for another browser.
 */
function enter(): Promise<void> {
  entering ??= enterOnce().finally(() => {
    entering = undefined
  })
  return entering
}

async function enterOnce(): Promise<void> {
  const isKnown = await isKnownHere()
  if (!isKnown && wantsAccount) return startAtProvider(code)
  if (!isKnown)
    await (answer === undefined ? signInWithCode(code) : signIn((key) => finishAtProvider(answer, key)))
  location.replace('.')
}
