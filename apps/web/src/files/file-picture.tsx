import { useState } from 'react'
import { visible } from '../base/format.logic.ts'
import { ScrollRegion } from '../parts/scroll-region.tsx'

/** A picture on a background that shows its transparent parts. A message replaces a broken picture. */
export function FilePicture({ address, name }: { address: string; name: string }) {
  const [broken, setBroken] = useState<string>()
  const [size, setSize] = useState('')
  if (broken === address) return <p className="px-4 py-3 text-sm text-soft">This picture cannot be shown.</p>
  return (
    <ScrollRegion
      label={`Picture ${name}`}
      className="flex min-h-0 flex-1 flex-col items-center gap-2 overflow-auto p-4 -outline-offset-2"
    >
      <img
        src={address}
        alt={visible(name)}
        onError={() => setBroken(address)}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setSize(naturalWidth > 0 ? `${naturalWidth} × ${naturalHeight}` : '')
        }
        className="checkered max-w-full min-w-4 rounded-md border border-line"
      />
      <p className="text-xs text-soft">{size}</p>
    </ScrollRegion>
  )
}
