import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { NotSignedIn } from '../parts/problem.tsx'

/** The only page of a browser that is not signed in. The server's error says how to get a link. */
export default function SignedOutPage() {
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    client.call('listDevices').then(() => location.reload(), setError)
  }, [])
  return <NotSignedIn error={error} />
}
