import { useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Lazy, lazyPart } from '../parts/lazy-part.tsx'

const dialogPart = lazyPart(() => import('./pair-dialog.tsx'))

/** Opens the dialog that shows a pairing code. */
export function PairButton() {
  const [open, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>Pair a phone</Button>
      {open && (
        <Dialog label="Pair a phone" className="w-[min(26rem,calc(100vw-1.5rem))]!" onClose={close}>
          <Lazy part={dialogPart}>{(PairDialog) => <PairDialog onClose={close} />}</Lazy>
        </Dialog>
      )}
    </>
  )
}
