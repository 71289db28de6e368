import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'

type Props = {
  label: string
  heading: string
  /** The effects of the action, one sentence each. */
  consequences: readonly string[]
  /** The reason why the action is not possible now. */
  obstacle?: string | undefined
  action: string
  isBusy: boolean
  onConfirm: () => void
  onClose: () => void
  children?: ReactNode
}

/** Asks for confirmation of an action, and lists its effects. */
export function ConsequencesDialog(props: Props) {
  const { label, heading, consequences, obstacle, action, isBusy, onConfirm, onClose, children } = props
  return (
    <Dialog label={label} onClose={onClose} className="flex-col open:flex">
      <h2 className="px-4 pt-3.5 text-base font-semibold">{heading}</h2>
      <div className="min-h-0 overflow-y-auto px-4 py-2 text-sm">
        <ul className="flex list-disc flex-col gap-1 pl-5">
          {consequences.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
        {children}
        <p aria-live="polite" className="pt-2 text-soft empty:hidden">
          {obstacle}
        </p>
      </div>
      <ConfirmButtons
        action={action}
        disabled={isBusy || obstacle !== undefined}
        onConfirm={onConfirm}
        onClose={onClose}
      />
    </Dialog>
  )
}

type ButtonsProps = Pick<Props, 'action' | 'onConfirm' | 'onClose'> & { disabled: boolean }

/** The buttons of a dialog that asks for confirmation. */
export function ConfirmButtons({ action, disabled, onConfirm, onClose }: ButtonsProps) {
  return (
    <div className="flex justify-end gap-2 px-4 pt-1 pb-3.5">
      <Button look="quiet" onClick={onClose}>
        Cancel
      </Button>
      <Button look="primary" disabled={disabled} onClick={onConfirm}>
        {action}
      </Button>
    </div>
  )
}

export const turnRuns = 'A turn is running. Wait until it ends, or stop it.'
