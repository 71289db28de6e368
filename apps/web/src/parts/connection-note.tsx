import { CloudOff, LoaderCircle } from 'lucide-react'
import { client, useConnection } from '../base/client.ts'
import { errorText } from '../base/error-text.logic.ts'

/** Shows a note while the server is unreachable. */
export function ConnectionNote() {
  const connection = useConnection()
  if (connection.state === 'open' || connection.state === 'idle' || connection.state === 'closed') return null
  if (connection.state === 'connecting') {
    return (
      <p className="flex items-center gap-2 border-t border-line px-3.5 py-2 text-xs text-soft">
        <LoaderCircle size={13} className="animate-spin" aria-hidden /> Connecting…
      </p>
    )
  }
  const error = 'error' in connection ? connection.error : undefined
  return (
    <div
      role="status"
      data-testid="offline"
      className="flex items-start gap-2 border-t border-wait-line bg-wait-wash px-3.5 py-2 text-xs text-wait"
    >
      <CloudOff size={14} className="mt-0.5 shrink-0" aria-hidden />
      <span className="min-w-0 flex-1">
        {connection.state === 'stopped'
          ? error
            ? errorText(error)
            : 'The server does not accept this browser’s sign-in.'
          : 'Offline. Showing saved data; messages are sent when the server is reachable again.'}
      </span>
      <button
        type="button"
        className="shrink-0 rounded font-semibold underline pointer-coarse:-my-2 pointer-coarse:min-h-11"
        onClick={() => {
          client.socket.retry()
          client.socket.open()
        }}
      >
        Try now
      </button>
    </div>
  )
}
