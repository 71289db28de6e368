import { type Pairing, type Role, roleScopes, type Scope } from '@parley/protocol'
import { X } from 'lucide-react'
import { type FormEvent, useEffect, useMemo, useState } from 'react'
import { encode } from 'uqr'
import { client } from '../base/client.ts'
import { useNow } from '../base/clock.ts'
import { errorText } from '../base/error-text.logic.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Labelled, Select, Text } from './form-parts.tsx'

const roleNames: Readonly<Record<Role, string>> = {
  viewer: 'Read only',
  member: 'Read and send prompts',
  approver: 'Read, send prompts and decide',
  admin: 'Everything',
}

/** Creates a pairing code, and shows it with a QR code until a device has used it. */
export default function PairDialog({ onClose }: { onClose: () => void }) {
  const [pairing, setPairing] = useState<Pairing>()
  const [added, setAdded] = useState<string>()
  useEffect(
    () => client.socket.onFrame((frame) => frame.type === 'device-added' && setAdded(frame.device.name)),
    [],
  )
  return (
    <div className="flex max-h-[85dvh] flex-col overflow-y-auto px-5 pt-4 pb-5 text-sm">
      <div className="flex items-start gap-3 pb-3">
        <h2 className="min-w-0 flex-1 text-base font-semibold">Pair a phone</h2>
        <IconButton label="Close" onClick={onClose}>
          <X size={16} />
        </IconButton>
      </div>
      {added !== undefined ? (
        <>
          <p role="status">{added} is signed in.</p>
          <div className="pt-4">
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </>
      ) : pairing ? (
        <ShownCode key={pairing.code} pairing={pairing} onAgain={() => setPairing(undefined)} />
      ) : (
        <PairForm onPairing={setPairing} />
      )}
    </div>
  )
}

function PairForm({ onPairing }: { onPairing: (pairing: Pairing) => void }) {
  const [role, setRole] = useState('')
  const [name, setName] = useState('')
  const [problem, setProblem] = useState('')
  const [held, setHeld] = useState<readonly Scope[]>([])
  useEffect(
    () =>
      void client.call('getMe').then(
        ({ scopes }) => setHeld(scopes),
        () => {},
      ),
    [],
  )
  const roles = (Object.keys(roleNames) as Role[]).filter((one) =>
    roleScopes[one].every((scope) => held.includes(scope)),
  )
  const create = async (event: FormEvent) => {
    event.preventDefault()
    const scopes = role === '' ? undefined : [...roleScopes[role as Role]]
    const body = { ...(name.trim() && { name: name.trim() }), ...(scopes && { scopes }) }
    await client.call('createPairing', { body }).then(onPairing, (thrown) => setProblem(errorText(thrown)))
  }
  return (
    <form aria-label="Pair a phone" onSubmit={(event) => void create(event)} className="flex flex-col gap-3">
      <p className="text-pretty text-soft">The code signs one device in, within ten minutes.</p>
      <Labelled label="What the device may do">
        <Select
          value={role}
          onChoose={setRole}
          options={[
            ['', 'The same as this browser'],
            ...roles.map((one): [string, string] => [one, roleNames[one]]),
          ]}
        />
      </Labelled>
      <Labelled label="Name of the device (optional)">
        <Text value={name} placeholder="My phone" onWrite={setName} />
      </Labelled>
      <p role="alert" className="text-bad [overflow-wrap:anywhere] empty:hidden">
        {problem}
      </p>
      <div>
        <Button look="primary" type="submit">
          Show the code
        </Button>
      </div>
    </form>
  )
}

function ShownCode({ pairing, onAgain }: { pairing: Pairing; onAgain: () => void }) {
  const { code, url, expiresAt } = pairing
  const now = useNow()
  const { origin, pathname, hostname } = new URL(url)
  const isLocal = /^(localhost|127\..*|\[::1\])$/.test(hostname)
  if (now >= expiresAt) {
    return (
      <>
        <p role="status">This code has expired.</p>
        <div className="pt-4">
          <Button look="primary" onClick={onAgain}>
            New code
          </Button>
        </div>
      </>
    )
  }
  return (
    <div className="flex flex-col items-center gap-3 text-center">
      <QrCode text={url} />
      <p className="text-pretty text-soft">
        Scan it with the camera of the phone, or open{' '}
        <span className="text-ink [overflow-wrap:anywhere]">{origin + pathname}</span> there and type
      </p>
      <p className="flex items-center gap-2">
        <strong data-testid="pairing-code" className="font-mono text-title tracking-wider">
          {code}
        </strong>
        <CopyButton text={() => url} label="Copy link" />
      </p>
      {isLocal && (
        <p role="note" className="rounded-md bg-sunk px-3 py-2 text-left text-pretty text-soft">
          Only this machine can reach {hostname}. To pair a phone, run <code>parley pair</code> in a terminal:
          it says how other devices can reach this server.
        </p>
      )}
    </div>
  )
}

/** The quiet zone that scanners need around the code, in modules of the code. */
const margin = 3

/** Black on white in both themes, because some scanners do not read inverted codes. */
function QrCode({ text }: { text: string }) {
  const { size, path } = useMemo(() => {
    const { data, size } = encode(text, { border: margin })
    const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    return { size, path: squares.join('') }
  }, [text])
  return (
    <svg
      role="img"
      aria-label="QR code of the link"
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="w-60 max-w-full rounded-md"
    >
      <path fill="#fff" d={`M0 0h${size}v${size}h-${size}z`} />
      <path fill="#000" d={path} />
    </svg>
  )
}
