import { type FormEvent, useEffect, useState } from 'react'
import { errorText } from '../base/error-text.logic.ts'
import { Button } from '../parts/button.tsx'
import { Link } from '../parts/link.tsx'
import { Problem } from '../parts/problem.tsx'
import { ProviderButton } from './provider-button.tsx'
import { isKnownHere, signInWithCode, suggestedName } from './sign-in.ts'
import { SignInField } from './sign-in-field.tsx'

/** The target of an invitation: the new person gives a name, and this browser is signed in. */
export function InvitationPage({ code }: { code: string }) {
  const [isSignedIn, setSignedIn] = useState<boolean>()
  const [name, setName] = useState('')
  const [device, setDevice] = useState(suggestedName)
  const [problem, setProblem] = useState<unknown>()
  const [sending, setSending] = useState(false)
  useEffect(() => {
    isKnownHere().then(setSignedIn, () => setSignedIn(false))
  }, [])
  if (isSignedIn === undefined) return <Problem title="Invitation" text="One moment." />
  if (isSignedIn) return <AlreadySignedIn />
  const accept = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === '') return setProblem(new Error('Enter your name.'))
    setProblem(undefined)
    setSending(true)
    signInWithCode(code, { name: device.trim(), person: { name: name.trim() } }).then(
      () => location.replace('.'),
      (thrown: unknown) => {
        setProblem(thrown)
        setSending(false)
      },
    )
  }
  return (
    <Problem
      title="You are invited to Parley"
      text="Parley runs coding agents on this server. Your name and the device are shown beside what you do."
    >
      <form onSubmit={accept} className="flex flex-col gap-3 pt-4">
        <SignInField
          label="Your name"
          value={name}
          onWrite={setName}
          autoComplete="name"
          problemId="invitation-problem"
          isFirst
        />
        <SignInField label="Name of this device" value={device} onWrite={setDevice} />
        <p id="invitation-problem" role="alert" className="text-sm text-bad empty:hidden">
          {problem !== undefined && errorText(problem)}
        </p>
        <span>
          <Button look="primary" type="submit" disabled={sending}>
            {sending ? 'Signing in…' : 'Sign in'}
          </Button>
        </span>
      </form>
      <ProviderButton code={code} />
    </Problem>
  )
}

/** The invitation is not used, and remains valid for another browser. */
function AlreadySignedIn() {
  return (
    <Problem
      title="This browser is already signed in"
      text="The invitation is for a new person, so it was not used. Open the link in that person’s browser, or sign out here first."
    >
      <Link
        to={{ name: 'home' }}
        onClick={() => location.replace('.')}
        className="mt-3 inline-flex items-center rounded text-sm text-mark hover:underline pointer-coarse:min-h-11"
      >
        All sessions
      </Link>
    </Problem>
  )
}
