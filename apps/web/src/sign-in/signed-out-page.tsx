import { hasCode } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { errorText, linkCommand } from '../base/error-text.logic.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Problem } from '../parts/problem.tsx'
import { revokedMark, signedOutKey } from '../session-data/sign-out.ts'
import { ProviderButton } from './provider-button.tsx'

const title = 'This browser is not signed in'

/** True if this browser was signed out elsewhere, or its access has expired. */
const wasRevoked = () => localStorage.getItem(signedOutKey)?.startsWith(revokedMark) === true
const revokedTitle = 'This browser was signed out'
const revokedText =
  'Somebody signed it out elsewhere, or its access has expired. The copies that it stored are deleted. To use Parley here again, open a new link. An administrator can create one; on the server’s machine, this command prints one.'

/**
 * The only page of a browser that is not signed in, with the command that prints a sign-in link. The command
 * is in the server's error. If no error is passed, the page makes a call, whose error contains the command.
 */
export default function SignedOutPage({ error: given }: { error?: unknown }) {
  const [error, setError] = useState(given)
  useEffect(() => {
    if (given === undefined) client.call('listDevices').then(() => location.reload(), setError)
  }, [given])
  const command = linkCommand(error)
  const [isRevoked] = useState(wasRevoked)
  if (hasCode(error, 'forbidden')) return <Problem title="No access" text={errorText(error)} />
  if (command === undefined) return <Problem title={title} text={error ? errorText(error) : ''} />
  return (
    <Problem
      title={isRevoked ? revokedTitle : title}
      text={
        isRevoked
          ? revokedText
          : 'Open the link that the server printed when it started, or print a new one with this command. If the server was started with --data-dir, add the same option.'
      }
    >
      <p className="mt-3 flex items-center gap-2 rounded-md bg-sunk py-1 pr-1 pl-2.5">
        <code className="min-w-0 flex-1 font-mono text-sm [overflow-wrap:anywhere]">{command}</code>
        <CopyButton text={() => command} label="Copy command" />
      </p>
      <ProviderButton />
      <a
        href="pair"
        className="mt-3 inline-flex items-center rounded text-sm text-mark hover:underline pointer-coarse:min-h-11"
      >
        Type a pairing code
      </a>
    </Problem>
  )
}
